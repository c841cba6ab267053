import type { AdminApp, UnpublishedTitle } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconBooks } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { msg, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { Section } from '../frame/page-head.tsx';
import { reasonLabel, tileOf } from './discovery-labels.ts';

type Decision = 'allow' | 'ignore';
const nameOf = (title: UnpublishedTitle) => title.name || t('Title {number}', { number: title.external_id });
const keyOf = (title: UnpublishedTitle) => `${title.external_source} ${title.external_id}`;
const columns = (props: {
  tileOf: (title: UnpublishedTitle) => AdminApp | undefined;
  isPending: (title: UnpublishedTitle, rule: Decision) => boolean;
  onDecide: (title: UnpublishedTitle, rule: Decision) => void;
}): readonly Column<UnpublishedTitle>[] => [
  {
    head: msg('Title'),
    kind: 'name',
    title: keyOf,
    cell: (title) => {
      const tile = props.tileOf(title);
      if (tile === undefined) return nameOf(title);
      return (
        <Link to="/admin/apps/$id" params={{ id: tile.id }} className={styles.nameLink}>
          {nameOf(title)}
        </Link>
      );
    },
  },
  { head: msg('Why not'), cell: reasonLabel },
  { head: msg('People'), kind: 'number', cell: (title) => title.users },
  { head: msg('Last seen'), cell: (title) => <RelativeTime at={title.last_seen_at} /> },
  {
    head: msg('Actions'),
    kind: 'action',
    cell: (title) => (
      <>
        <Button
          size="compact-sm"
          variant="subtle"
          aria-label={t('Publish {title}', { title: nameOf(title) })}
          loading={props.isPending(title, 'allow')}
          onClick={() => props.onDecide(title, 'allow')}
        >
          {t('Publish')}
        </Button>
        {title.suppressed_by !== 'rule_ignore' && (
          <Button
            size="compact-sm"
            variant="subtle"
            aria-label={t('Keep {title} out', { title: nameOf(title) })}
            loading={props.isPending(title, 'ignore')}
            onClick={() => props.onDecide(title, 'ignore')}
          >
            {t('Keep out')}
          </Button>
        )}
      </>
    ),
  },
];
/** Refresh interval, because a scan that ends may add titles. */
const REFRESH_MS = 5_000;

/**
 * Titles that were found in homes but that people do not see, with the reason for each.
 * @param props.apps all apps, to find the disabled tile of a title
 */
export function Unpublished({ app, apps }: { app: AdminApp; apps: readonly AdminApp[] }) {
  const queryClient = useQueryClient();
  const query = useQuery({
    queryKey: adminKeys.libraryUnpublished(app.id),
    queryFn: ({ signal }) => call('libraryUnpublished.list', { params: { id: app.id }, signal }),
    refetchInterval: REFRESH_MS,
  });
  const tileOfTitle = (title: UnpublishedTitle) => (title.has_tile ? tileOf(apps, app.id, title) : undefined);
  const decide = useMutation({
    mutationFn: async ({ title, rule }: { title: UnpublishedTitle; rule: Decision }) => {
      await call('libraryRules.set', {
        params: { id: app.id, external_id: title.external_id },
        body: { rule, external_source: 'steam' },
      });
      // The rule `allow` does not enable a disabled tile, so the page enables it here.
      const tile = rule === 'allow' ? tileOfTitle(title) : undefined;
      if (tile !== undefined) await call('apps.update', { params: { id: tile.id }, body: { enabled: true } });
    },
    onMutate: () => notifications.clean(),
    onSuccess: (_answer, { title, rule }) => {
      const name = title.name || title.external_id;
      const message =
        rule === 'ignore'
          ? t('{title} is kept out, even if it is found', { title: name })
          : t('{title} is published with the next search of a home that has it', { title: name });
      notifications.show({ message, autoClose: 6000 });
      return Promise.all(
        [
          adminKeys.libraryUnpublished(app.id),
          adminKeys.libraryRules(app.id),
          adminKeys.libraryApps,
          adminKeys.adminApps,
        ].map((queryKey) => queryClient.invalidateQueries({ queryKey })),
      );
    },
  });
  const items = query.data?.items;
  return (
    <Section title={t('Titles of {app} that people do not see', { app: app.name })} busy={query.isPending}>
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {decide.isError && <Problem error={decide.error} />}
      {items?.length === 0 ? (
        <EmptyState icon={IconBooks} title={t('Every title that was found is published')}>
          {t('Tools of the launcher and titles that you keep out appear here after a search.')}
        </EmptyState>
      ) : (
        <ListTable
          label={t('Unpublished titles')}
          columns={columns({
            tileOf: tileOfTitle,
            isPending: (title, rule) =>
              decide.isPending &&
              decide.variables.title.external_id === title.external_id &&
              decide.variables.rule === rule,
            onDecide: (title, rule) => decide.mutate({ title, rule }),
          })}
          rows={items}
          rowKey={keyOf}
        />
      )}
    </Section>
  );
}

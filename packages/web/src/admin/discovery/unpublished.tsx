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
import { type Column, DataTable, SkeletonRows } from '../frame/lists/data-table.tsx';
import { Section } from '../frame/page-head.tsx';
import { reasonLabel, tileOf } from './discovery-labels.ts';

const COLUMNS: readonly Column[] = [
  { label: msg('Title') },
  { label: msg('Why not') },
  { label: msg('People'), kind: 'number' },
  { label: msg('Last seen') },
  { label: msg('Actions'), kind: 'action' },
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
  const decide = useMutation({
    mutationFn: async ({ title, rule }: { title: UnpublishedTitle; rule: 'allow' | 'ignore' }) => {
      await call('libraryRules.set', {
        params: { id: app.id, external_id: title.external_id },
        body: { rule, external_source: 'steam' },
      });
      // The rule `allow` does not enable a disabled tile, so the page enables it here.
      const tile = rule === 'allow' && title.has_tile ? tileOf(apps, app.id, title) : undefined;
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
  const pending = (title: UnpublishedTitle, rule: string) =>
    decide.isPending &&
    decide.variables.title.external_id === title.external_id &&
    decide.variables.rule === rule;
  return (
    <Section title={t('Titles of {app} that people do not see', { app: app.name })} busy={query.isPending}>
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {decide.isError && <Problem error={decide.error} />}
      {items?.length === 0 ? (
        <EmptyState icon={IconBooks} title={t('Every title that was found is published')}>
          {t('Tools of the launcher and titles that you keep out appear here after a search.')}
        </EmptyState>
      ) : (
        <DataTable
          label={t('Unpublished titles')}
          columns={COLUMNS.map((column) => ({ ...column, label: t(column.label) }))}
        >
          {items === undefined && <SkeletonRows rows={3} columns={COLUMNS.length} />}
          {items?.map((title) => {
            const tile = title.has_tile ? tileOf(apps, app.id, title) : undefined;
            const name = title.name || t('Title {number}', { number: title.external_id });
            return (
              <tr key={`${title.external_source} ${title.external_id}`}>
                <td className={styles.nameCell} title={`${title.external_source} ${title.external_id}`}>
                  {tile === undefined ? (
                    name
                  ) : (
                    <Link to="/admin/apps/$id" params={{ id: tile.id }} className={styles.nameLink}>
                      {name}
                    </Link>
                  )}
                </td>
                <td>{reasonLabel(title)}</td>
                <td className={styles.number}>{title.users}</td>
                <td>
                  <RelativeTime at={title.last_seen_at} />
                </td>
                <td className={styles.rowActions}>
                  <Button
                    size="compact-sm"
                    variant="subtle"
                    aria-label={t('Publish {title}', { title: name })}
                    loading={pending(title, 'allow')}
                    onClick={() => decide.mutate({ title, rule: 'allow' })}
                  >
                    {t('Publish')}
                  </Button>
                  {title.suppressed_by !== 'rule_ignore' && (
                    <Button
                      size="compact-sm"
                      variant="subtle"
                      aria-label={t('Keep {title} out', { title: name })}
                      loading={pending(title, 'ignore')}
                      onClick={() => decide.mutate({ title, rule: 'ignore' })}
                    >
                      {t('Keep out')}
                    </Button>
                  )}
                </td>
              </tr>
            );
          })}
        </DataTable>
      )}
    </Section>
  );
}

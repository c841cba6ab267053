import type { Query } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, plural, t } from '../../i18n/translate.ts';
import { SESSION_FILTERS, type SessionSearch } from '../../search/session-search.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { SearchField, ShowMore, usePages } from '../frame/lists/paged-list.tsx';
import { readSort } from '../frame/lists/table-sort.ts';
import { PageHead } from '../frame/page-head.tsx';
import { SegmentedChoice } from '../frame/segmented-choice.tsx';
import { isSessionOrder, SessionTable } from './session-table.tsx';

/** Refresh interval: agents report every 5 s. */
const REFRESH_MS = 5_000;
const PAGE = 100;
const FILTER_LABELS: Readonly<Record<(typeof SESSION_FILTERS)[number], string>> = {
  active: msg('Active'),
  ended: msg('Ended'),
  failed: msg('Failed'),
  all: msg('All'),
};

/** All people's sessions, filtered by state and text. */
export function SessionsPage(props: { search: SessionSearch; onSearch: (search: SessionSearch) => void }) {
  usePageTitle(t('Sessions'));
  const { search, onSearch } = props;
  const state = search.state ?? 'active';
  const q = search.q ?? '';
  const sort = isSessionOrder(readSort(search.sort).key)
    ? (search.sort as Query<'admin.sessions.list'>['sort'])
    : undefined;
  const wanted = { state, q, sort };
  const {
    query,
    items: sessions,
    total,
  } = usePages(
    adminKeys.adminSessionList(wanted),
    (cursor: string | undefined, signal) =>
      call('admin.sessions.list', {
        // Only the first page shows the number of sessions.
        query: { ...wanted, limit: PAGE, cursor, count: cursor === undefined || undefined },
        signal,
      }),
    { refetchMs: REFRESH_MS },
  );
  return (
    <>
      <PageHead
        title={t('Sessions')}
        actions={
          <Button renderRoot={(root) => <Link to="/admin/placement" {...root} />}>
            {t('Preview a placement')}
          </Button>
        }
      />
      <div className={styles.filters}>
        <SegmentedChoice
          label={t('State')}
          value={state}
          options={SESSION_FILTERS.map((value) => ({ value, label: t(FILTER_LABELS[value]) }))}
          onChange={(next) => onSearch({ ...search, state: next })}
        />
        <SearchField
          label={t('Find sessions')}
          hint={t('App, user or host')}
          value={q}
          onChange={(next) => onSearch({ ...search, q: next })}
        />
        {total !== undefined && (
          <span className={styles.dim}>{plural(total, '{n} session', '{n} sessions')}</span>
        )}
      </div>
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {sessions?.length === 0 ? (
        <EmptyState icon={IconPlayerPlay} title={q === '' ? t('No sessions here') : t('Nothing matches')}>
          {q === ''
            ? t('Sessions appear as soon as somebody launches an app.')
            : t('Names of apps, users and hosts are searched.')}
        </EmptyState>
      ) : (
        <SessionTable
          sessions={sessions}
          order={{
            sort,
            onSort: (sort) => onSearch({ ...search, sort } as SessionSearch),
          }}
        />
      )}
      <ShowMore query={query} />
    </>
  );
}

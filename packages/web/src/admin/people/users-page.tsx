import type { AdminUser } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { IconMailPlus, IconUsers } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { SearchField, ShowMore, useSortedPages } from '../frame/lists/paged-list.tsx';
import { useListSearch } from '../frame/lists/use-list-search.ts';
import { PageHead } from '../frame/page-head.tsx';

const COLUMNS: readonly Column<AdminUser>[] = [
  {
    head: msg('Name'),
    kind: 'name',
    sort: 'name',
    by: (user) => user.username,
    title: (user) => user.username,
    cell: (user) => (
      <Link to="/admin/users/$id" params={{ id: user.id }} className={styles.nameLink}>
        {user.username}
      </Link>
    ),
  },
  {
    head: msg('Email'),
    kind: 'short',
    sort: 'email',
    by: (user) => user.email,
    title: (user) => user.email,
    cell: (user) => user.email,
  },
  {
    head: msg('Role'),
    sort: 'role',
    by: (user) => user.role,
    cell: (user) => (user.role === 'admin' ? t('Administrator') : t('User')),
  },
  {
    head: msg('State'),
    sort: 'state',
    by: (user) => Number(user.disabled),
    cell: (user) => <UserChip user={user} />,
  },
  {
    head: msg('Sessions'),
    kind: 'number',
    sort: 'running',
    by: (user) => user.active_session_count,
    title: () => t('running now, of the largest number allowed'),
    cell: (user) =>
      t('{n} of {total}', { n: user.active_session_count, total: user.max_concurrent_sessions }),
  },
  {
    head: msg('Last seen'),
    sort: 'seen',
    by: (user) => user.last_seen_at,
    cell: (user) => <RelativeTime at={user.last_seen_at} />,
  },
  {
    head: msg('Joined'),
    sort: 'since',
    by: (user) => user.created_at,
    cell: (user) => <RelativeTime at={user.created_at} />,
  },
];

/** Every account of the instance. */
export function UsersPage() {
  usePageTitle(t('Users'));
  const [search, setSearch] = useListSearch(['q', 'sort']);
  const q = search.q ?? '';
  const {
    query,
    items: users,
    sortedOf,
  } = useSortedPages(
    adminKeys.userList(q),
    (cursor: string | undefined, signal) => call('users.list', { query: { limit: 100, q, cursor }, signal }),
    search.sort,
  );
  return (
    <>
      <PageHead
        title={t('Users')}
        actions={
          <Button
            variant="filled"
            leftSection={<IconMailPlus size={18} />}
            renderRoot={(props) => <Link to="/admin/invites" {...props} />}
          >
            {t('Invite people')}
          </Button>
        }
      />
      <div className={styles.filters}>
        <SearchField
          label={t('Find a user')}
          hint={t('Name or email')}
          value={q}
          onChange={(text) => setSearch({ ...search, q: text })}
        />
      </div>
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {users?.length === 0 ? (
        <EmptyState icon={IconUsers} title={t('Nobody by that name')}>
          {t('Names and email addresses are searched.')}
        </EmptyState>
      ) : (
        <ListTable
          label={t('Users')}
          columns={COLUMNS}
          rows={users}
          rowKey={(user) => user.id}
          order={{ sort: search.sort, onSort: (sort) => setSearch({ ...search, sort: sort ?? '' }) }}
        />
      )}
      <ShowMore query={query} sortedOf={sortedOf} />
    </>
  );
}

/** Whether an account can be used. */
export function UserChip({ user }: { user: AdminUser }) {
  if (user.disabled) return <StateChip tone="neutral">{t('Disabled')}</StateChip>;
  return <StateChip tone="success">{t('Enabled')}</StateChip>;
}

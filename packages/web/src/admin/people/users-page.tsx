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
import { type Column, DataTable, SkeletonRows } from '../frame/lists/data-table.tsx';
import { SearchField, ShowMore, useSortedPages } from '../frame/lists/paged-list.tsx';
import { useListSearch } from '../frame/lists/use-list-search.ts';
import { PageHead } from '../frame/page-head.tsx';

const COLUMNS: readonly Column[] = [
  { label: msg('Name'), sort: 'name' },
  { label: msg('Email'), sort: 'email' },
  { label: msg('Role'), sort: 'role' },
  { label: msg('State'), sort: 'state' },
  { label: msg('Running'), kind: 'number', sort: 'running' },
  { label: msg('Last seen'), sort: 'seen' },
  { label: msg('Member since'), sort: 'since' },
];
const SORT_KEYS = {
  name: (user: AdminUser) => user.username,
  email: (user: AdminUser) => user.email,
  role: (user: AdminUser) => user.role,
  state: (user: AdminUser) => (user.disabled ? 2 : user.active_session_count > 0 ? 0 : 1),
  running: (user: AdminUser) => user.active_session_count,
  seen: (user: AdminUser) => user.last_seen_at,
  since: (user: AdminUser) => user.created_at,
};

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
    { sort: search.sort, keys: SORT_KEYS },
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
        <DataTable
          label={t('Users')}
          columns={COLUMNS.map((column) => ({ ...column, label: t(column.label) }))}
          order={{ sort: search.sort, onSort: (sort) => setSearch({ ...search, sort: sort ?? '' }) }}
        >
          {users === undefined && <SkeletonRows rows={4} columns={COLUMNS.length} />}
          {users?.map((user) => (
            <tr key={user.id}>
              <td className={styles.nameCell} title={user.username}>
                <Link to="/admin/users/$id" params={{ id: user.id }} className={styles.nameLink}>
                  {user.username}
                </Link>
              </td>
              <td className={styles.shortCell} title={user.email}>
                {user.email}
              </td>
              <td>{user.role === 'admin' ? t('Administrator') : t('User')}</td>
              <td>
                <UserChip user={user} />
              </td>
              <td className={styles.number}>
                {t('{n} of {total}', { n: user.active_session_count, total: user.max_concurrent_sessions })}
              </td>
              <td>
                <RelativeTime at={user.last_seen_at} />
              </td>
              <td>
                <RelativeTime at={user.created_at} />
              </td>
            </tr>
          ))}
        </DataTable>
      )}
      <ShowMore query={query} sortedOf={sortedOf} />
    </>
  );
}

/** Whether an account can be used. */
export function UserChip({ user }: { user: AdminUser }) {
  if (user.disabled) return <StateChip tone="neutral">{t('Disabled')}</StateChip>;
  if (user.active_session_count > 0) return <StateChip tone="success">{t('Active')}</StateChip>;
  return <StateChip tone="info">{t('Enabled')}</StateChip>;
}

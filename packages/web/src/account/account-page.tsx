import { Button } from '@mantine/core';
import { IconLogout } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { Problem } from '../components/problem.tsx';
import { RelativeTime } from '../components/relative-time.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import { usePageTitle } from '../components/use-page-title.ts';
import styles from './account.module.css';
import { signOut } from './sign-out.ts';

/** Who the person is here, and the way out. */
export function AccountPage() {
  usePageTitle('Account');
  const me = useQuery({ queryKey: keys.me, queryFn: ({ signal }) => call('me.read', { signal }) });
  const user = me.data?.user;
  return (
    <div className={styles.account}>
      <h1>Account</h1>
      {me.isError && <Problem error={me.error} retry={() => void me.refetch()} />}
      <section className={styles.sheet} aria-label="Your account" aria-busy={me.isPending}>
        <dl className={styles.facts}>
          <dt>Name</dt>
          <dd>{user?.username ?? <Skeleton width={120} height={20} />}</dd>
          <dt>Email</dt>
          <dd>{user?.email ?? <Skeleton width={200} height={20} />}</dd>
          <dt>Role</dt>
          <dd>{user ? roleWords(user.role) : <Skeleton width={80} height={20} />}</dd>
          <dt>Member since</dt>
          <dd>{user ? <RelativeTime at={user.created_at} /> : <Skeleton width={100} height={20} />}</dd>
        </dl>
      </section>
      <div>
        <Button leftSection={<IconLogout size={18} />} onClick={() => void signOut()}>
          Log out
        </Button>
      </div>
    </div>
  );
}

function roleWords(role: string): string {
  return role === 'admin' ? 'Administrator' : 'User';
}

import { Button } from '@mantine/core';
import { IconLogout } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { Problem } from '../components/problem.tsx';
import { RelativeTime } from '../components/relative-time.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import { usePageTitle } from '../components/use-page-title.ts';
import styles from './account.module.css';
import { Devices } from './devices.tsx';
import { ChangePassword } from './password.tsx';
import { PictureQuality } from './picture-quality.tsx';
import { signOut } from './sign-out.ts';
import { Storage } from './storage.tsx';

/** The person's account: data, devices, sign-out. */
export function AccountPage() {
  usePageTitle('Account');
  const me = useQuery({ queryKey: keys.me, queryFn: ({ signal }) => call('me.read', { signal }) });
  const user = me.data?.user;
  return (
    <div className={styles.account}>
      <div className={styles.head}>
        <h1>Account</h1>
        <Button leftSection={<IconLogout size={18} />} onClick={() => void signOut()}>
          Log out
        </Button>
      </div>
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
      <Part title="Picture quality">
        <PictureQuality />
      </Part>
      <Part title="Devices">
        <Devices />
      </Part>
      <Part title="Files">
        <Storage />
      </Part>
      <Part title="Password">
        <ChangePassword owner={user} />
      </Part>
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className={styles.part} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function roleWords(role: string): string {
  return role === 'admin' ? 'Administrator' : 'User';
}

import { Button } from '@mantine/core';
import { IconLogout } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense } from 'react';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { Problem } from '../components/problem.tsx';
import { RelativeTime } from '../components/relative-time.tsx';
import { Skeleton, useSettled } from '../components/skeleton.tsx';
import { usePageTitle } from '../components/use-page-title.ts';
import { t } from '../i18n/translate.ts';
import styles from './account.module.css';
import { Devices } from './devices.tsx';
import { Look } from './look.tsx';
import { ChangePassword, NoPassword } from './password.tsx';
import { PictureQuality } from './quality/picture-quality.tsx';
import { signOut } from './sign-out.ts';
import { Storage } from './storage.tsx';

/** Loaded separately, so that the page does not wait for the list of layouts. */
const KeyboardChoice = lazy(() => import('./keyboard-choice.tsx'));

/** The person's account: data, devices, sign-out. */
export function AccountPage() {
  usePageTitle(t('Account'));
  const me = useQuery({ queryKey: keys.me, queryFn: ({ signal }) => call('me.read', { signal }) });
  const user = me.data?.user;
  const methods = me.data?.sign_in_methods;
  const isWithoutPassword = methods?.includes('oidc') && !methods.includes('password');
  const ready = useSettled();
  return (
    <div className={styles.account}>
      <div className={styles.head}>
        <h1>{t('Account')}</h1>
        <Button leftSection={<IconLogout size={18} />} onClick={() => void signOut()}>
          {t('Log out')}
        </Button>
      </div>
      {me.isError && <Problem error={me.error} retry={() => void me.refetch()} />}
      <section className={styles.sheet} aria-label={t('Your account')} aria-busy={me.isPending}>
        <dl className={styles.facts}>
          <div>
            <dt>{t('Name')}</dt>
            <dd>{user?.username ?? <Skeleton width={120} height={21} />}</dd>
          </div>
          <div>
            <dt>{t('Email')}</dt>
            <dd>{user?.email ?? <Skeleton width={200} height={21} />}</dd>
          </div>
          <div>
            <dt>{t('Role')}</dt>
            <dd>{user ? roleLabel(user.role) : <Skeleton width={80} height={21} />}</dd>
          </div>
          <div>
            <dt>{t('Joined')}</dt>
            <dd>{user ? <RelativeTime at={user.created_at} /> : <Skeleton width={100} height={21} />}</dd>
          </div>
        </dl>
      </section>
      {!ready && (
        <div className={styles.columns} aria-hidden="true">
          <Skeleton height={320} radius={14} />
          <Skeleton height={320} radius={14} />
        </div>
      )}
      <div className={styles.columns} data-ready={ready}>
        <div className={styles.column}>
          <Part title={t('Devices')}>
            <Devices />
          </Part>
          <Part title={t('Files')}>
            <Storage />
          </Part>
          <Part title={t('Password')}>
            {isWithoutPassword ? <NoPassword /> : <ChangePassword owner={user} />}
          </Part>
          <Part title={t('Look')}>
            <Look />
          </Part>
          <Part title={t('Keyboard')}>
            <Suspense fallback={<Skeleton height={60} radius={8} />}>
              <KeyboardChoice />
            </Suspense>
          </Part>
        </div>
        <div className={styles.column}>
          <Part title={t('Picture quality')}>
            <PictureQuality />
          </Part>
        </div>
      </div>
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

function roleLabel(role: string): string {
  return role === 'admin' ? t('Administrator') : t('User');
}

import { Link, Outlet, useRouter } from '@tanstack/react-router';
import { type ComponentType, lazy, Suspense } from 'react';
import { useUser } from '../api/auth-store.ts';
import { Brand } from '../components/brand.tsx';
import { type InputKind, useInputKind } from '../focus/input-kind.ts';
import { usePadAndArrows } from '../focus/use-pad-and-arrows.ts';
import { t } from '../i18n/translate.ts';
import { PersonMenu } from './person-menu.tsx';
import styles from './shell.module.css';

const PadHints = lazy<ComponentType<{ input: Exclude<InputKind, 'pointer'> }>>(() =>
  import('./pad-hints.tsx').then(
    ({ PadHints: loaded }) => ({ default: loaded }),
    // If the hints cannot be loaded, the page works without hints.
    () => ({ default: () => null }),
  ),
);

/** Header and frame of the users' pages. */
export function UserShell() {
  const user = useUser();
  const router = useRouter();
  const input = useInputKind();
  usePadAndArrows(() => {
    if (router.state.location.pathname !== '/app') void router.navigate({ to: '/app' });
  });
  return (
    <>
      <a href="#main" className={styles.skip}>
        {t('Skip to content')}
      </a>
      <header className={styles.header}>
        <Brand href="/app" />
        <nav className={styles.nav} aria-label={t('Main')}>
          <Link to="/app" activeOptions={{ exact: true }} className={styles.navLink}>
            {t('Library')}
          </Link>
          {/* A separate document, which the server gives to administrators only. */}
          {user?.role === 'admin' && (
            <a href="/admin" className={styles.navLink}>
              {t('Admin')}
            </a>
          )}
        </nav>
        <span className={styles.spacer} />
        <PersonMenu />
      </header>
      <main id="main" tabIndex={-1} className={styles.main}>
        <Outlet />
      </main>
      {input !== 'pointer' && (
        <Suspense>
          <PadHints input={input} />
        </Suspense>
      )}
    </>
  );
}

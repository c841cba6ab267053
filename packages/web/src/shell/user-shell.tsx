import { Link, Outlet, useRouter } from '@tanstack/react-router';
import { useUser } from '../api/auth-store.ts';
import { Brand } from '../components/brand.tsx';
import { usePadAndArrows } from '../focus/use-pad-and-arrows.ts';
import { t } from '../words/words.ts';
import { PadHints } from './pad-hints.tsx';
import { PersonMenu } from './person-menu.tsx';
import styles from './shell.module.css';

/** Header and frame of the users' pages. */
export function UserShell() {
  const user = useUser();
  const router = useRouter();
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
      <PadHints />
    </>
  );
}

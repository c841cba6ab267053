import { Link, Outlet } from '@tanstack/react-router';
import { useUser } from '../api/auth-store.ts';
import { Brand } from '../components/brand.tsx';
import { PersonMenu } from './person-menu.tsx';
import styles from './shell.module.css';

/** Header and frame of the users' pages. */
export function UserShell() {
  const user = useUser();
  return (
    <>
      <a href="#main" className={styles.skip}>
        Skip to content
      </a>
      <header className={styles.header}>
        <Brand href="/app" />
        <nav className={styles.nav} aria-label="Main">
          <Link to="/app" activeOptions={{ exact: true }} className={styles.navLink}>
            Library
          </Link>
          {/* A separate document, which the server gives to administrators only. */}
          {user?.role === 'admin' && (
            <a href="/admin" className={styles.navLink}>
              Admin
            </a>
          )}
        </nav>
        <span className={styles.spacer} />
        <PersonMenu />
      </header>
      <main id="main" tabIndex={-1} className={styles.main}>
        <Outlet />
      </main>
    </>
  );
}

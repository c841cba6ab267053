import { Notifications } from '@mantine/notifications';
import {
  IconAppWindow,
  IconArrowLeft,
  IconChecklist,
  IconHistory,
  IconLayoutDashboard,
  IconPlayerPlay,
  IconServer,
  IconSettings,
  IconStack2,
  IconTemplate,
  IconUsers,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { addOperations, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { Brand } from '../../components/brand.tsx';
import { PersonMenu } from '../../shell/person-menu.tsx';
import shell from '../../shell/shell.module.css';
import { adminOperationTable } from './admin-operation-table.ts';
import '@mantine/core/styles/Paper.css';
import '@mantine/core/styles/Notification.css';
import '@mantine/core/styles/InlineInput.css';
import '@mantine/core/styles/Checkbox.css';
import '@mantine/core/styles/Radio.css';
import '@mantine/core/styles/Switch.css';
import '@mantine/core/styles/NumberInput.css';
import '@mantine/notifications/styles.css';
import styles from './admin-layout.module.css';

// Every page of the administration stands in this shell.
addOperations(adminOperationTable);

/** Frame of the administrators' area. */
export function AdminShell() {
  const setup = useQuery({
    queryKey: keys.setup,
    queryFn: ({ signal }) => call('setup.status', { signal }),
    staleTime: 60_000,
  });
  const nav = useRef<HTMLElement>(null);
  const path = useRouterState({ select: (state) => state.location.pathname });
  // On a phone the bar is wider than the window and would hide the current link.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the path decides which link is the current one
  useEffect(() => {
    const bar = nav.current;
    const current = bar?.querySelector<HTMLElement>('[aria-current="page"]');
    if (bar && current) {
      bar.scrollLeft = current.offsetLeft - bar.offsetLeft - (bar.clientWidth - current.offsetWidth) / 2;
    }
  }, [path]);
  return (
    <div className={styles.frame}>
      <a href="#main" className={shell.skip}>
        Skip to content
      </a>
      <header className={styles.side}>
        <div className={styles.sideBrand}>
          <Brand href="/admin" />
        </div>
        <nav ref={nav} className={styles.nav} aria-label="Administration">
          <Link to="/admin" activeOptions={{ exact: true }} className={styles.link}>
            <IconLayoutDashboard size={20} aria-hidden="true" /> Overview
          </Link>
          <Link to="/admin/hosts" className={styles.link}>
            <IconServer size={20} aria-hidden="true" /> Hosts
          </Link>
          <Link to="/admin/sessions" className={styles.link}>
            <IconPlayerPlay size={20} aria-hidden="true" /> Sessions
          </Link>
          <Link to="/admin/apps" className={styles.link}>
            <IconAppWindow size={20} aria-hidden="true" /> Apps
          </Link>
          <Link to="/admin/presets" className={styles.link}>
            <IconTemplate size={20} aria-hidden="true" /> Presets
          </Link>
          <Link to="/admin/profiles" className={styles.link}>
            <IconStack2 size={20} aria-hidden="true" /> Profiles
          </Link>
          <Link to="/admin/users" className={styles.link}>
            <IconUsers size={20} aria-hidden="true" /> Users
          </Link>
          <Link to="/admin/activity" className={styles.link}>
            <IconHistory size={20} aria-hidden="true" /> Activity
          </Link>
          <Link to="/admin/settings" className={styles.link}>
            <IconSettings size={20} aria-hidden="true" /> Settings
          </Link>
          {setup.data?.setup_completed === false && (
            <Link to="/admin/setup" className={styles.link}>
              <IconChecklist size={20} aria-hidden="true" /> Set up
            </Link>
          )}
        </nav>
        <div className={styles.sideFoot}>
          <a href="/app" className={styles.link}>
            <IconArrowLeft size={20} aria-hidden="true" /> Library
          </a>
          <PersonMenu up />
        </div>
      </header>
      <Notifications position="bottom-right" limit={4} />
      <main id="main" tabIndex={-1} className={styles.main}>
        <Outlet />
      </main>
    </div>
  );
}

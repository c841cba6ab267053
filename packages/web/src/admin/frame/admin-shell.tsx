import {
  type Icon,
  IconAppWindow,
  IconArrowLeft,
  IconBooks,
  IconChecklist,
  IconClockPlay,
  IconDatabaseExport,
  IconFolders,
  IconHistory,
  IconInfoCircle,
  IconLayoutDashboard,
  IconMenu2,
  IconPackage,
  IconPlayerPlay,
  IconServer,
  IconSettings,
  IconStack2,
  IconTemplate,
  IconUsers,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, type LinkProps, Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { addOperations, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { Brand } from '../../components/brand.tsx';
import { PersonMenu } from '../../shell/person-menu.tsx';
import shell from '../../shell/shell.module.css';
import { adminOperationTable } from './admin-operation-table.ts';
import { useClearedToasts } from './cleared-toasts.ts';
import { Toasts } from './toasts.tsx';
import '@mantine/core/styles/Paper.css';
import '@mantine/core/styles/Notification.css';
import '@mantine/core/styles/InlineInput.css';
import '@mantine/core/styles/Checkbox.css';
import '@mantine/core/styles/Radio.css';
import '@mantine/core/styles/Switch.css';
import '@mantine/core/styles/NumberInput.css';
import '@mantine/notifications/styles.css';
import { msg, t } from '../../i18n/translate.ts';
import styles from './admin-layout.module.css';

// Every administration page is shown in this shell.
addOperations(adminOperationTable);

interface Entry {
  to: NonNullable<LinkProps['to']>;
  label: string;
  icon: Icon;
  /** A page without its own entry, which is reached from this entry's page. */
  also?: string;
}

/** The pages, grouped by subject. */
const GROUPS: readonly { label: string; entries: readonly Entry[] }[] = [
  {
    label: msg('Fleet'),
    entries: [
      { to: '/admin/hosts', label: msg('Hosts'), icon: IconServer },
      { to: '/admin/sessions', label: msg('Sessions'), icon: IconPlayerPlay, also: '/admin/placement' },
      { to: '/admin/images', label: msg('Images'), icon: IconPackage },
      { to: '/admin/homes', label: msg('Homes'), icon: IconFolders },
    ],
  },
  {
    label: msg('Apps'),
    entries: [
      { to: '/admin/apps', label: msg('Apps'), icon: IconAppWindow },
      { to: '/admin/discovery', label: msg('Discovery'), icon: IconBooks },
      { to: '/admin/presets', label: msg('Presets'), icon: IconTemplate },
      { to: '/admin/profiles', label: msg('Profiles'), icon: IconStack2, also: '/admin/new-profile' },
    ],
  },
  {
    label: msg('Service'),
    entries: [
      { to: '/admin/users', label: msg('Users'), icon: IconUsers, also: '/admin/invites' },
      { to: '/admin/jobs', label: msg('Jobs'), icon: IconClockPlay },
      { to: '/admin/activity', label: msg('Activity'), icon: IconHistory },
      { to: '/admin/backups', label: msg('Backups'), icon: IconDatabaseExport },
      { to: '/admin/settings', label: msg('Settings'), icon: IconSettings },
      { to: '/admin/about', label: msg('About'), icon: IconInfoCircle },
    ],
  },
];
/** Time within which each page notices that the server does not answer. */
const ALIVE_MS = 5_000;

/** Frame of the administrators' area. */
export function AdminShell() {
  const setup = useQuery({
    queryKey: keys.setup,
    queryFn: ({ signal }) => call('setup.status', { signal }),
    // On some pages this is the only request, and it shows whether the server answers.
    refetchInterval: ALIVE_MS,
  });
  useClearedToasts();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const [opened, setOpened] = useState(false);
  // On a phone, the menu would cover the page that its link has opened.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another path is another page
  useEffect(() => setOpened(false), [path]);
  const current = GROUPS.flatMap((group) => group.entries).findLast(
    ({ to, also }) => path.startsWith(to) || path === also,
  );
  return (
    <div className={styles.frame}>
      <a href="#main" className={shell.skip}>
        {t('Skip to content')}
      </a>
      <header className={styles.side}>
        <div className={styles.sideBrand}>
          <Brand href="/admin" />
        </div>
        <button
          type="button"
          className={styles.menuButton}
          aria-expanded={opened}
          aria-controls="admin-nav"
          onClick={() => setOpened(!opened)}
        >
          <IconMenu2 size={20} aria-hidden="true" />
          <span className="visually-hidden">{t('Menu, on the page')} </span>
          {path === '/admin'
            ? t('Overview')
            : path === '/admin/setup'
              ? t('Set up')
              : t(current?.label ?? msg('Pages'))}
        </button>
        <nav id="admin-nav" className={styles.nav} data-opened={opened} aria-label={t('Administration')}>
          <Link to="/admin" activeOptions={{ exact: true }} className={styles.link}>
            <IconLayoutDashboard size={20} aria-hidden="true" /> {t('Overview')}
          </Link>
          {setup.data?.setup_completed === false && (
            <Link to="/admin/setup" className={styles.link}>
              <IconChecklist size={20} aria-hidden="true" /> {t('Set up')}
            </Link>
          )}
          {GROUPS.map((group) => (
            <div key={group.label} className={styles.group}>
              <p id={`nav-${group.label}`}>{t(group.label)}</p>
              <ul aria-labelledby={`nav-${group.label}`}>
                {group.entries.map(({ to, label, icon: Icon, also }) => (
                  <li key={to}>
                    <Link to={to} className={styles.link} {...(path === also && { 'data-status': 'active' })}>
                      <Icon size={20} aria-hidden="true" /> {t(label)}
                    </Link>
                  </li>
                ))}
              </ul>
            </div>
          ))}
        </nav>
        <div className={styles.sideFoot}>
          <a href="/app" className={styles.link}>
            <IconArrowLeft size={20} aria-hidden="true" /> {t('Library')}
          </a>
          <PersonMenu up />
        </div>
      </header>
      <Toasts />
      <main id="main" tabIndex={-1} className={styles.main}>
        <Outlet />
      </main>
    </div>
  );
}

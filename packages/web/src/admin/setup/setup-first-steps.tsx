import type { AdminApp } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { IconAppWindow, IconServer } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { AppPicture } from '../../components/app-picture.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { plural, t } from '../../i18n/translate.ts';
import { useLaunchNow } from '../apps/use-launch-now.ts';
import { AddHost } from '../fleet/enrollment-tokens.tsx';
import { useFleetSummary, usePicturedGpus, usePicturedHosts } from '../fleet/use-fleet.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { Section } from '../frame/page-head.tsx';
import { FindingList } from '../overview/finding-list.tsx';
import { findingsOf } from '../overview/findings.ts';
import { FleetPicture } from '../overview/fleet-picture.tsx';

const SHOWN_APPS = 6;

/** Second step: a machine that runs apps. Connected hosts appear automatically. */
export function FirstHostStep() {
  const hosts = usePicturedHosts();
  const items = hosts.data?.items ?? [];
  const gpus = usePicturedGpus();
  const summary = useFleetSummary();
  const { online = 0, draining = 0, offline = 0 } = summary.data?.hosts ?? {};
  const connected = online + draining;
  const [making, setMaking] = useState(false);
  return (
    <div className={styles.stack}>
      {hosts.isError && <Problem error={hosts.error} retry={() => void hosts.refetch()} />}
      {summary.isError && <Problem error={summary.error} retry={() => void summary.refetch()} />}
      {(hosts.isPending || summary.isPending) && <Skeleton height={84} radius={14} />}
      {hosts.isSuccess && items.length === 0 && (
        <EmptyState icon={IconServer} title={t('Waiting for a host')}>
          {t(
            'A host is a machine that runs apps. To add one, run a command on it; it appears here after it has measured what it can encode.',
          )}
        </EmptyState>
      )}
      {items.length > 0 && summary.isSuccess && (
        <>
          <Section title={plural(connected, '{n} host connected', '{n} hosts connected')}>
            <FleetPicture hosts={items} total={connected + offline} gpus={gpus.data} />
          </Section>
          <FindingList findings={findingsOf(items, false)} />
        </>
      )}
      <div>
        <Button size="xs" onClick={() => setMaking(true)}>
          {t('Add a host')}
        </Button>
      </div>
      <AddHost opened={making} onClose={() => setMaking(false)} />
    </div>
  );
}

const useFirstApps = () =>
  useQuery({
    queryKey: adminKeys.adminAppsFirst,
    queryFn: ({ signal }) => call('admin.apps.list', { query: { limit: SHOWN_APPS }, signal }),
  });

/** Last step: the first apps, which the person can launch at once. Shows nothing if there are no apps. */
export function ReadyApps() {
  const apps = useFirstApps();
  const items = apps.data?.items.filter(({ enabled }) => enabled) ?? [];
  if (items.length === 0) return null;
  return (
    <Section title={t('Launch an app now')}>
      <AppTiles apps={items} />
    </Section>
  );
}

/** Tiles that launch their apps. The session page opens in the users' document. */
function AppTiles({ apps }: { apps: readonly AdminApp[] }) {
  const launch = useLaunchNow();
  return (
    <>
      {launch.isError && <Problem error={launch.error} />}
      <ul className={styles.appStrip}>
        {apps.map((app) => (
          <li key={app.id}>
            <button
              type="button"
              className={styles.appLaunch}
              aria-label={t('Launch {app}', { app: app.name })}
              // A second click would launch a second session.
              disabled={!app.enabled || launch.isPending || launch.isSuccess}
              onClick={() => launch.mutate(app.id)}
            >
              <AppPicture app={app} shape="cover" className={styles.appTile} />
              <span>{app.name}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Third step: an app to launch. */
export function FirstAppStep() {
  const apps = useFirstApps();
  if (apps.isError) return <Problem error={apps.error} retry={() => void apps.refetch()} />;
  if (apps.data === undefined) return <Skeleton height={200} radius={14} />;
  const add = (
    <Button size="sm" renderRoot={(props) => <Link to="/admin/apps/new" {...props} />}>
      {t('Add an app')}
    </Button>
  );
  if (apps.data.items.length === 0) {
    return (
      <EmptyState icon={IconAppWindow} title={t('No apps yet')} action={add}>
        {t('An app is a program on your hosts or a container image. Add one now, or later on the apps page.')}
      </EmptyState>
    );
  }
  return (
    <div className={styles.stack}>
      <p className={styles.dim}>{t('These apps are here already; you find them in your library.')}</p>
      <AppTiles apps={apps.data.items} />
      <div>{add}</div>
    </div>
  );
}

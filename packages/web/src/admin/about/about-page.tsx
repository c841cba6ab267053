import { Link } from '@tanstack/react-router';
import packageFile from '../../../package.json' with { type: 'json' };
import { CopyLine } from '../../components/copy-line.tsx';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, plural, rich, t } from '../../i18n/translate.ts';
import { useHosts } from '../fleet/use-fleet.ts';
import styles from '../frame/admin-pages.module.css';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { PageHead, Section } from '../frame/page-head.tsx';
import { type AgentVersion, agentVersions } from './agent-versions.ts';

/** The control plane serves the pages of its own checkout, so both have this version. */
const { version: VERSION } = packageFile;
/** Names of hosts that are listed for a version. */
const NAMED_HOSTS = 8;
const COLUMNS: readonly Column<AgentVersion>[] = [
  {
    head: msg('Version'),
    cell: ({ version }) => (
      <>
        <span className={styles.mono}>{version ?? t('Not known yet')}</span>{' '}
        {version !== null && version !== VERSION && (
          <StateChip tone="warning">{t('Other version')}</StateChip>
        )}
      </>
    ),
  },
  { head: msg('Hosts'), kind: 'number', cell: ({ hosts }) => hosts.length },
  {
    head: msg('Names'),
    cell: ({ hosts }) => (
      // One element: on a phone the cell is a flex container, which would separate the names from their commas.
      <span>
        {hosts.slice(0, NAMED_HOSTS).map(({ id, node_name }, n) => (
          <span key={id}>
            {n > 0 && ', '}
            <Link to="/admin/hosts/$id" params={{ id }}>
              {node_name}
            </Link>
          </span>
        ))}
        {hosts.length > NAMED_HOSTS && plural(hosts.length - NAMED_HOSTS, ' and {n} more', ' and {n} more')}
      </span>
    ),
  },
];
const BACKUP =
  "sudo sh -c 'set -a; . /etc/footlight/control.env; exec ./scripts/backup /somewhere/footlight.backup'";
const UPDATE = [
  './scripts/pnpm install --frozen-lockfile',
  './scripts/pnpm --filter @footlight/web build',
  'sudo ./scripts/control-plane install',
];

/** Versions of the instance and its agents, and the commands of a backup and an upgrade. */
export function AboutPage() {
  usePageTitle(t('About'));
  const hosts = useHosts();
  return (
    <>
      <PageHead
        title={`Footlight ${VERSION}`}
        lead={rich('The control plane and these pages have this version. Programs use its {api}.', {
          api: (
            <a key="api" href="/docs" hrefLang="en">
              {t('HTTP API')}
            </a>
          ),
        })}
      />
      {hosts.isPending ? <Skeleton height={640} radius={14} /> : <Parts hosts={hosts} />}
    </>
  );
}

function Parts({ hosts }: { hosts: ReturnType<typeof useHosts> }) {
  return (
    <>
      <Section title={t('Agents')}>
        {hosts.isError && <Problem error={hosts.error} retry={() => void hosts.refetch()} />}
        {hosts.data?.items.length === 0 && <p className={styles.dim}>{t('No host has enrolled.')}</p>}
        {(hosts.data?.items.length ?? 0) > 0 && (
          <ListTable
            label={t('Versions of the agents')}
            columns={COLUMNS}
            rows={agentVersions(hosts.data?.items ?? [])}
            rowKey={({ version }) => version ?? ''}
          />
        )}
        <p className={styles.dim}>
          {rich(
            'To upgrade a host, first upgrade the control plane and drain the host. Then make a new command under {link}, and run it on the host. It ends the sessions of the host.',
            {
              link: (
                <Link key="link" to="/admin/hosts">
                  {t('Hosts, Add a host')}
                </Link>
              ),
            },
          )}
        </p>
      </Section>
      <Section title={t('Backup')}>
        <p>
          {t(
            'In the folder of Footlight, this command saves accounts, apps, settings, hosts and sessions to one file. The service can run meanwhile. Save its variables, its certificate and the pictures of apps too; docs/backup.md says where they are.',
          )}
        </p>
        <p>
          {rich('The service also makes {link} by itself, once a day and before a migration.', {
            link: (
              <Link key="link" to="/admin/backups">
                {t('backups')}
              </Link>
            ),
          })}
        </p>
        <CopyLine label={t('command of a backup')} value={BACKUP} />
      </Section>
      <Section title={t('Upgrade')}>
        <p>
          {rich(
            'Make a backup, stop the service, get the new version with {command}, and run these commands. Sessions continue. CHANGELOG.md lists what changed.',
            { command: <code key="command">git pull</code> },
          )}
        </p>
        {UPDATE.map((command) => (
          <CopyLine key={command} label={t('command: {command}', { command })} value={command} />
        ))}
      </Section>
    </>
  );
}

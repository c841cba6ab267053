import { Link } from '@tanstack/react-router';
import packageFile from '../../../package.json' with { type: 'json' };
import { CopyLine } from '../../components/copy-line.tsx';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { useHosts } from '../fleet/use-fleet.ts';
import styles from '../frame/admin-pages.module.css';
import { type Column, DataTable } from '../frame/lists/data-table.tsx';
import { PageHead, Section } from '../frame/page-head.tsx';
import { agentVersions } from './agent-versions.ts';

/** The control plane serves the pages of its own checkout, so both have this version. */
const { version: VERSION } = packageFile;
/** Names of hosts that are listed for a version. */
const NAMED_HOSTS = 8;
const COLUMNS: readonly Column[] = [
  { label: 'Version' },
  { label: 'Hosts', kind: 'number' },
  { label: 'Names' },
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
  usePageTitle('About');
  const hosts = useHosts();
  return (
    <>
      <PageHead
        title={`Footlight ${VERSION}`}
        lead={
          <>
            The control plane and these pages have this version. Programs use its <a href="/docs">HTTP API</a>
            .
          </>
        }
      />
      <Section title="Agents" busy={hosts.isPending}>
        {hosts.isError && <Problem error={hosts.error} retry={() => void hosts.refetch()} />}
        {hosts.isPending && <Skeleton height={84} radius={14} />}
        {hosts.data?.items.length === 0 && <p className={styles.dim}>No host has enrolled.</p>}
        {(hosts.data?.items.length ?? 0) > 0 && (
          <DataTable label="Versions of the agents" columns={COLUMNS}>
            {agentVersions(hosts.data?.items ?? []).map(({ version, hosts }) => (
              <tr key={version}>
                <td>
                  <span className={styles.mono}>{version ?? 'Not known yet'}</span>{' '}
                  {version !== null && version !== VERSION && (
                    <StateChip tone="warning">Other version</StateChip>
                  )}
                </td>
                <td className={styles.number}>{hosts.length}</td>
                <td>
                  {hosts.slice(0, NAMED_HOSTS).map(({ id, node_name }, n) => (
                    <span key={id}>
                      {n > 0 && ', '}
                      <Link to="/admin/hosts/$id" params={{ id }}>
                        {node_name}
                      </Link>
                    </span>
                  ))}
                  {hosts.length > NAMED_HOSTS && ` and ${hosts.length - NAMED_HOSTS} more`}
                </td>
              </tr>
            ))}
          </DataTable>
        )}
        <p className={styles.dim}>
          To upgrade a host, run the command of <Link to="/admin/hosts">Hosts, Add a host</Link> on it again.
          Upgrade the control plane first. The command ends the host's sessions, so drain the host before.
        </p>
      </Section>
      <Section title="Backup">
        <p>
          In the folder of Footlight, this command saves accounts, apps, settings, hosts and sessions to one
          file. The service can run meanwhile. Save its variables, its certificate and the pictures of apps
          too; docs/backup.md says where they are.
        </p>
        <CopyLine label="command of a backup" value={BACKUP} />
      </Section>
      <Section title="Upgrade">
        <p>
          Make a backup, stop the service, get the new version with <code>git pull</code>, and run these
          commands. Sessions continue. CHANGELOG.md lists what changed.
        </p>
        {UPDATE.map((command) => (
          <CopyLine key={command} label={`command: ${command}`} value={command} />
        ))}
      </Section>
    </>
  );
}

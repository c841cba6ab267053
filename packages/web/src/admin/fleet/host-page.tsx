import type { Gpu, Host } from '@footlight/protocol/rest';
import { IconChecklist, IconCpu } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { call } from '../../api/client.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, plural, rich, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { PageHead, Section } from '../frame/page-head.tsx';
import { megabytesLabel } from '../frame/quantity-labels.ts';
import { Remedies } from '../frame/remedies.tsx';
import { Whole } from '../frame/whole.tsx';
import { FindingList } from '../overview/finding-list.tsx';
import { offlineFinding } from '../overview/findings.ts';
import { SessionTable } from '../sessions/session-table.tsx';
import { HostActions } from './host-actions.tsx';
import { HostCertification, useCertification } from './host-certification.tsx';
import { HostConsoleSection } from './host-console.tsx';
import { HostSettingsSection } from './host-settings.tsx';
import { LiveSessionLimit } from './live-session-limit.tsx';
import { HostLoadSection } from './load/host-load.tsx';
import { useHostLoad } from './load/use-host-load.ts';
import { HostPreflight } from './preflight/host-preflight.tsx';
import { checkName, checkSentence } from './readiness-labels.ts';
import { CheckChip, HostChip } from './states.tsx';
import { useLiveSessions } from './use-fleet.ts';

/** Refresh interval: agents report every 5 s. */
const REFRESH_MS = 5_000;
const GPU_COLUMNS: readonly Column<Gpu>[] = [
  {
    head: msg('GPU'),
    cell: (gpu) => (
      <>
        <b style={{ fontWeight: 600 }}>{gpu.vendor === 'software' ? t('Software encoder') : gpu.model}</b>{' '}
        <span className={styles.dim}>
          {gpu.vendor === 'software'
            ? t('encodes on the processor, without a GPU')
            : `${gpu.vendor} · ${gpu.gpu_index}`}
        </span>
      </>
    ),
  },
  { head: msg('Slots'), kind: 'number', cell: (gpu) => `${gpu.slots_reserved} / ${gpu.slots_total}` },
  { head: msg('Sessions'), kind: 'number', cell: (gpu) => gpu.active_sessions },
  {
    head: msg('Memory in use'),
    kind: 'number',
    cell: (gpu) => (gpu.vram_mb_total === 0 ? '–' : megabytesLabel(gpu.vram_mb_used)),
  },
  {
    head: msg('Memory'),
    kind: 'number',
    cell: (gpu) => (gpu.vram_mb_total === 0 ? '–' : megabytesLabel(gpu.vram_mb_total)),
  },
  { head: msg('Render node'), kind: 'code', cell: (gpu) => gpu.render_node ?? '–' },
];

/** One host: status, readiness, settings, sessions. */
export function HostPage({ id }: { id: string }) {
  const host = useQuery({
    queryKey: adminKeys.host(id),
    queryFn: ({ signal }) => call('hosts.read', { params: { id }, signal }),
    refetchInterval: REFRESH_MS,
  });
  const gpus = useQuery({
    queryKey: adminKeys.gpus(id),
    queryFn: ({ signal }) => call('hosts.gpus', { params: { id }, signal }),
    refetchInterval: REFRESH_MS,
  });
  const sessions = useLiveSessions({ host_id: id });
  // Each part loads its own data. The parts are shown together, so that a late part does not move the others.
  const parts = [gpus, sessions, useHostLoad(id), useCertification(id)];
  usePageTitle(host.data?.node_name ?? t('Host'));
  const back = { to: '/admin/hosts', label: t('Hosts') } as const;
  if (host.isError) {
    return (
      <>
        <PageHead title={t('Host')} back={back} />
        <Problem error={host.error} retry={() => void host.refetch()} />
      </>
    );
  }
  if (host.data === undefined) {
    return (
      <>
        <PageHead title={<Skeleton width={180} height={31} />} back={back} />
        <Skeleton height={220} radius={14} />
      </>
    );
  }
  const here = sessions.data?.items;
  return (
    <Whole>
      <PageHead
        title={host.data.node_name}
        lead={
          <span className={styles.chipLine}>
            <HostChip host={host.data} />
            <span>{contactLabel(host.data)}</span>
          </span>
        }
        actions={<HostActions host={host.data} sessions={here ?? []} />}
        back={back}
      />
      {host.data.status === 'offline' && <FindingList findings={[offlineFinding(host.data)]} />}
      {parts.some((query) => query.isPending) ? (
        <Skeleton height={640} radius={14} />
      ) : (
        <>
          <HostLoadSection host={host.data} />
          <Readiness host={host.data} />
          <HostPreflight host={host.data} />
          <Section title={t('GPUs and encoders')} busy={gpus.isPending}>
            {gpus.data?.items.length === 0 ? (
              <EmptyState icon={IconCpu} title={t('No GPU to show')}>
                {host.data.capacity_reason ??
                  t('When it connects, the agent reports its GPUs and encoders, also the software encoder.')}
              </EmptyState>
            ) : (
              <ListTable
                label={t('GPUs')}
                columns={GPU_COLUMNS}
                rows={gpus.data?.items ?? []}
                rowKey={(gpu) => gpu.gpu_id}
              />
            )}
          </Section>
          {here !== undefined && here.length > 0 && (
            <Section title={t('Sessions on this host')}>
              <SessionTable sessions={here} />
              <LiveSessionLimit sessions={sessions} />
            </Section>
          )}
          <HostCertification host={host.data} />
          <HostSettingsSection host={host.data} sessions={here ?? []} />
          <HostConsoleSection
            host={host.data}
            shown={here?.find(({ video_topology }) => video_topology !== undefined)}
          />
          <Section title={t('Machine')}>
            <Machine host={host.data} />
          </Section>
        </>
      )}
    </Whole>
  );
}

/** When the host was last heard of. A host that has just connected has sent no heartbeat yet. */
function contactLabel({ status, last_heartbeat_at, last_registered_at }: Host): ReactNode {
  const connected = status === 'offline' ? msg('last connected {time}') : msg('connected {time}');
  const label = last_heartbeat_at === null ? connected : msg('last heartbeat {time}');
  const at = last_heartbeat_at ?? last_registered_at;
  return at === null
    ? t('has not connected yet')
    : rich(label, { time: <RelativeTime key="time" at={at} /> });
}

function Readiness({ host }: { host: Host }) {
  const checks = host.readiness;
  const rank = (status: string) =>
    status === 'fail' ? 0 : status === 'pass' ? 2 : status === 'skip' ? 3 : 1;
  return (
    <Section title={t('Readiness')}>
      {checks === null || checks.length === 0 ? (
        <EmptyState
          icon={IconChecklist}
          title={checks === null ? t('Not reported yet') : t('No checks reported')}
        >
          {t(
            'The agent checks its machine when it starts and when it reconnects. Problems appear here, with what to do about them.',
          )}
        </EmptyState>
      ) : (
        <ul className={styles.checks}>
          {[...checks]
            .sort((a, b) => rank(a.status) - rank(b.status))
            .map((check) => (
              <li key={check.id} className={styles.check}>
                <span>
                  <CheckChip status={check.status} />
                </span>
                <div className={styles.findingText}>
                  <p className={styles.findingTitle}>{checkName(check.id)}</p>
                  <p>{checkSentence(check.summary)}</p>
                  <Remedies
                    lines={check.remediation.map(checkSentence)}
                    label={t('remedy for {check}', { check: checkName(check.id) })}
                  />
                </div>
              </li>
            ))}
        </ul>
      )}
      {host.readiness_reported_at !== null && (
        <p className={styles.dim}>
          {rich('Changed {time}. A failed check alone does not stop launches on this host.', {
            time: <RelativeTime key="time" at={host.readiness_reported_at} />,
          })}
        </p>
      )}
    </Section>
  );
}

function Machine({ host }: { host: Host }) {
  const cpu = host.cpu_model ?? t('not reported');
  return (
    <div className={styles.sheet}>
      <dl className={styles.facts}>
        <dt>{t('Processor')}</dt>
        <dd>
          {host.cpu_cores === null
            ? cpu
            : plural(host.cpu_cores, '{cpu}, {n} core', '{cpu}, {n} cores', { cpu })}
        </dd>
        <dt>{t('Memory')}</dt>
        <dd className="tabular">{megabytesLabel(host.mem_mb)}</dd>
        {host.storage?.map((disk) => (
          <div key={disk.path} style={{ display: 'contents' }}>
            <dt>{t('Disk {label}', { label: disk.label })}</dt>
            <dd className="tabular">
              {t('{free} of {total} free', {
                free: megabytesLabel(disk.available_mb),
                total: megabytesLabel(disk.total_mb),
              })}{' '}
              <span className={styles.mono}>{disk.path}</span>
            </dd>
          </div>
        ))}
        <dt>{t('Agent')}</dt>
        <dd>{host.agent_version ?? t('not reported')}</dd>
        <dt>{t('Connected')}</dt>
        <dd>
          <RelativeTime at={host.last_registered_at} />
        </dd>
        <dt>{t('Id')}</dt>
        <dd className={styles.mono}>{host.id}</dd>
      </dl>
    </div>
  );
}

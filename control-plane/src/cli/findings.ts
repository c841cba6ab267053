/**
 * What is wrong with an instance, and what to do. Pure. The overview of the web app has the same findings in the
 * person's language.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { ADVISORY_CHECKS } from '@footlight/protocol/readiness';
import type { AccessCheck, Backup, FleetSummary, Host, Job, Success } from '@footlight/protocol/rest';

export type AdminSession = Success<'admin.sessions.list'>['items'][number];

/** What the control plane says about itself. A part is missing if it could not be read. */
export interface Overview {
  readonly fleet: FleetSummary;
  /** Hosts that need attention. */
  readonly hosts: readonly Host[];
  readonly activeSessions: readonly AdminSession[];
  /** The newest sessions that failed. */
  readonly failedSessions: readonly AdminSession[];
  readonly jobs: readonly Job[];
  /** Newest first. */
  readonly backups: readonly Backup[];
  readonly webhook: Success<'admin.webhook.status'>;
  readonly access: AccessCheck;
  /** The clock of the control plane minus this one's; null: its answer had no time. */
  readonly clockOffsetMs: number | null;
}

export const AREAS = ['clock', 'certificate', 'hosts', 'sessions', 'jobs', 'backups', 'webhook'] as const;

export interface Finding {
  readonly area: (typeof AREAS)[number];
  /** `fault`: something does not work. `warning`: it will or may fail. `note`: nothing has to be repaired. */
  readonly level: 'fault' | 'warning' | 'note';
  readonly title: string;
  readonly remedies: readonly string[];
}

/** Larger differences make expiries and lists of events misleading. NTP keeps clocks within less than a second. */
const MAX_CLOCK_OFFSET_MS = 30 * SECOND_MS;
/** Time to replace a certificate whose renewal fails. As in the web app. */
const CERTIFICATE_DAYS = 14;
/** A daily backup may be late. As in the web app. */
const STALE_BACKUP_MS = 2 * DAY_MS;
const STALE_WEBHOOK_MS = 30 * MINUTE_MS;
/** Older failures say little about the present. */
const RECENT_MS = DAY_MS;

/** @returns the findings, worst first */
export function judgeOverview(overview: Overview, nowMs: number): Finding[] {
  const found = [
    ...clockFindings(overview.clockOffsetMs),
    ...accessFindings(overview.access),
    ...overview.hosts.flatMap(hostFindings),
    ...slotFindings(overview.fleet),
    ...overview.failedSessions.flatMap((session) => sessionFindings(session, nowMs)),
    ...overview.jobs.flatMap(jobFindings),
    ...backupFindings(overview.jobs, overview.backups, nowMs),
    ...webhookFindings(overview.webhook, nowMs),
  ];
  const order = { fault: 0, warning: 1, note: 2 };
  return found.sort((a, b) => order[a.level] - order[b.level]);
}

function clockFindings(offsetMs: number | null): Finding[] {
  if (offsetMs === null || Math.abs(offsetMs) <= MAX_CLOCK_OFFSET_MS) return [];
  const side = offsetMs > 0 ? 'behind' : 'ahead of';
  return [
    {
      area: 'clock',
      level: 'warning',
      title: `The clock of this machine is ${Math.round(Math.abs(offsetMs) / SECOND_MS)} s ${side} the control plane's.`,
      remedies: ['On both machines: timedatectl status'],
    },
  ];
}

function accessFindings({ certificate, request }: AccessCheck): Finding[] {
  const { in_use, info, host_covered, advice } = certificate;
  const found: Finding[] = [];
  if (request.advice !== undefined)
    found.push({ area: 'certificate', level: 'warning', title: request.advice, remedies: [] });
  if (!in_use || info === undefined) return found;
  if (host_covered === false)
    found.push({
      area: 'certificate',
      level: 'warning',
      title: `The certificate does not contain the name ${request.host}.`,
      remedies: advice === undefined ? [] : [advice],
    });
  if (info.days_until_expiry < CERTIFICATE_DAYS)
    found.push({
      area: 'certificate',
      level: info.days_until_expiry < 0 ? 'fault' : 'warning',
      title:
        info.days_until_expiry < 0
          ? 'The certificate has expired.'
          : `The certificate expires in ${Math.max(1, info.days_until_expiry)} days.`,
      remedies: ['docs/address.md, "Renewal of your own certificate"'],
    });
  return found;
}

function hostFindings(host: Host): Finding[] {
  if (host.status === 'offline')
    return [
      {
        area: 'hosts',
        level: 'warning',
        title: `${host.node_name} is offline.`,
        remedies: ['On the host: systemctl status footlight-agent', 'journalctl -u footlight-agent -n 50'],
      },
    ];
  const capacity: Finding[] =
    host.capacity_detection === 'ok'
      ? []
      : [
          {
            area: 'hosts',
            level: 'fault',
            title: `${host.node_name} takes no sessions: ${host.capacity_reason ?? 'its hardware has not been reported.'}`,
            remedies: [],
          },
        ];
  const failed = (host.readiness ?? []).filter(({ status }) => status === 'fail');
  return [
    ...capacity,
    ...failed.map(
      ({ id, summary, remediation }): Finding => ({
        area: 'hosts',
        level: ADVISORY_CHECKS.has(id) ? 'warning' : 'fault',
        title: `${host.node_name}: ${id}: ${summary}`,
        remedies: remediation,
      }),
    ),
  ];
}

function slotFindings({ hosts, slots }: FleetSummary): Finding[] {
  if (hosts.online === 0)
    return [
      {
        area: 'hosts',
        level: 'fault',
        title: 'No host is online, so every launch is refused.',
        remedies: ['To add a host: footlight hosts add'],
      },
    ];
  if (slots.total === 0 || slots.used < slots.total) return [];
  return [
    {
      area: 'hosts',
      level: 'note',
      title: 'Every slot is taken. The next launch is refused until a session ends.',
      remedies: [],
    },
  ];
}

function sessionFindings(session: AdminSession, nowMs: number): Finding[] {
  if (nowMs - Date.parse(session.ended_at ?? session.created_at) > RECENT_MS) return [];
  const where = session.host_name === undefined ? '' : ` on ${session.host_name}`;
  return [
    {
      area: 'sessions',
      level: 'warning',
      title: `${session.app_name ?? 'An app'}${where} failed: ${session.error_message ?? 'no reason was reported'} (${session.failure_code ?? 'unknown'})`,
      remedies: [`footlight sessions show ${session.id}`],
    },
  ];
}

function jobFindings(job: Job): Finding[] {
  if (!job.enabled) return [];
  const runs = job.targets?.map(({ last_run, node_name }) => ({ run: last_run, at: ` on ${node_name}` })) ?? [
    { run: job.last_run ?? null, at: '' },
  ];
  return runs
    .filter(({ run }) => run?.state === 'failed' || run?.state === 'aborted')
    .map(({ run, at }) => ({
      area: 'jobs',
      level: 'warning',
      title: `The job ${job.id} failed${at}: ${run?.error ?? 'no reason was reported'}`,
      remedies: [`footlight jobs runs ${job.id}`],
    }));
}

function backupFindings(jobs: readonly Job[], backups: readonly Backup[], nowMs: number): Finding[] {
  const job = jobs.find(({ id }) => id === 'database.backup');
  // A new instance has no backup until the first run, and without a schedule administrators decide about backups.
  if (!job?.enabled || !job.schedule.interval_secs || job.last_run == null) return [];
  const newest = backups.find(({ verified }) => verified);
  const ageMs = newest === undefined ? null : nowMs - Date.parse(newest.created_at);
  if (ageMs !== null && ageMs <= STALE_BACKUP_MS) return [];
  const title =
    ageMs === null
      ? 'There is no verified backup.'
      : `The newest verified backup is ${Math.floor(ageMs / HOUR_MS)} hours old.`;
  return [{ area: 'backups', level: 'warning', title, remedies: ['footlight backups create'] }];
}

function webhookFindings({ oldest_at, waiting }: Overview['webhook'], nowMs: number): Finding[] {
  if (oldest_at === null || nowMs - Date.parse(oldest_at) < STALE_WEBHOOK_MS) return [];
  const title = `${waiting} events wait for the webhook, because its receiver does not confirm them.`;
  const remedies = ['The log event webhook.failed of the control plane has the reason.'];
  return [{ area: 'webhook', level: 'warning', title, remedies }];
}

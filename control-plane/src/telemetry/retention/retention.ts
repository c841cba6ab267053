import { HOUR_MS } from '@footlight/platform';
import { LRUCache } from 'lru-cache';
import type { Tx } from '../../platform/database/index.ts';
import type {
  SessionSamplesTable,
  SessionTraceEventsTable,
} from '../../platform/database/tables/telemetry.ts';
import type { Platform } from '../../platform/platform.ts';
import { decideExpiry, type Expired } from './expiry.ts';
import {
  deleteBefore,
  deleteExpired,
  deleteFacts,
  EVENTS,
  listReporting,
  oldestKept,
  type ReportTable,
  SAMPLES,
  type SessionPart,
  trimHostEvents,
  trimHostSamples,
  trimSession,
} from './retention-store.ts';

/**
 * Maximum events that are kept per session and source, which is the length of a trace. KEPT_CAPTURES: the number of
 * captures in a bundle.
 */
const KEPT_EVENTS = 1_000;
const KEPT_CAPTURES = 200;
/** Maximum samples that are kept per session, source and hour of the rolling window: one per second, and some more. */
const KEPT_SAMPLES = 4_096;
/** Maximum events that are kept of all sessions: about 60 MB at the usual 300 bytes. */
const KEPT_EVENTS_IN_ALL = 200_000;
/** Maximum samples that are kept of all sessions: about 600 MB at the usual 600 bytes. */
const KEPT_SAMPLES_IN_ALL = 1_000_000;
/**
 * Maximum bytes of events that are kept per host and source; each source has its own limit, so that viewers cannot
 * displace the hosts' events. An event can have 512 KiB, so with limits on the count alone one host could fill the
 * disk.
 */
const KEPT_BYTES_OF_HOST = 256 * 1024 * 1024;
/**
 * Maximum samples that are kept per host, source and hour of the rolling window: enough for 60 sessions. Each source
 * has its own limit, so that viewers cannot displace the hosts' samples. A sample has at most 4 KiB, so this also
 * limits the bytes.
 */
const KEPT_SAMPLES_OF_HOST = 262_144;
/** A session is trimmed after this part (1/16) of its maximum number of reports has arrived. */
const TRIM_SESSION_PARTS = 16;
/** A host is trimmed after this part (1/16) of its maximum bytes or samples has arrived. */
const TRIM_HOST_PARTS = 16;
/** Maximum sessions per delete. Chosen, not measured. */
const SESSIONS_AT_ONCE = 200;
/** Maximum rows per delete, so that one transaction blocks SQLite's only writer for only a few milliseconds. */
const DELETED_AT_ONCE = 5_000;
/**
 * Maximum counters in memory for parts of sessions, and for hosts. After the eviction of its counter, a part is trimmed
 * with its next report.
 */
const COUNTED_SESSIONS = 8_192;
const COUNTED_HOSTS = 8_192;

/** Limits the stored reports of sessions: by number and bytes when they arrive, and by age in a job. */
export interface Retained {
  /**
   * Trims the sessions and hosts of these new reports, if they are due for a trim. Call this in the transaction that
   * stores the reports.
   */
  trim(tx: Tx, stored: StoredReports): Promise<void>;
}

export interface StoredReports {
  events: readonly SessionTraceEventsTable[];
  samples: readonly SessionSamplesTable[];
}

/** Limits that tests lower. */
export interface KeptLimits {
  bytesOfHost: number;
  samplesOfHost: number;
  eventsInAll: number;
  samplesInAll: number;
}

const KEPT: KeptLimits = {
  bytesOfHost: KEPT_BYTES_OF_HOST,
  samplesOfHost: KEPT_SAMPLES_OF_HOST,
  eventsInAll: KEPT_EVENTS_IN_ALL,
  samplesInAll: KEPT_SAMPLES_IN_ALL,
};

export function createRetention(
  { clock, config, database, jobs, logger }: Platform,
  limits: Partial<KeptLimits> = {},
): Retained {
  const { rollingMs, postmortemMs, retainInterval } = config.telemetry;
  const rollingHours = Math.max(1, rollingMs / HOUR_MS);
  const keptSamples = Math.ceil(KEPT_SAMPLES * rollingHours);
  const kept = { ...KEPT, samplesOfHost: Math.ceil(KEPT_SAMPLES_OF_HOST * rollingHours), ...limits };
  /** Table, session and part → reports since the last trim. */
  const untrimmed = new LRUCache<string, number>({ max: COUNTED_SESSIONS });
  /** Table, host and source: bytes of events, or samples, since the last trim. */
  const untrimmedOfHosts = new LRUCache<string, number>({ max: COUNTED_HOSTS });

  jobs.handle('telemetry.retain', {
    lock: retainInterval,
    async run({ fence, signal }) {
      const nowMs = clock.nowMs();
      const retention = { liveSince: nowMs - rollingMs, endedSince: nowMs - postmortemMs };
      const inBatches = async (step: (tx: Tx) => Promise<number>): Promise<number> => {
        let total = 0;
        for (let deleted = DELETED_AT_ONCE; deleted >= DELETED_AT_ONCE; total += deleted) {
          signal.throwIfAborted();
          deleted = await database.transaction(async (tx) => {
            await fence.check(tx);
            return step(tx);
          });
        }
        return total;
      };
      const sweep = async (table: ReportTable, keep: number): Promise<number> => {
        let deleted = 0;
        const expired: Record<Expired, string[]> = { all: [], rolled: [], reports: [], none: [] };
        for (const session of await listReporting(database.db, table))
          expired[decideExpiry(session, retention)].push(session.id);
        for (const kind of ['all', 'rolled', 'reports'] as const) {
          for (let from = 0; from < expired[kind].length; from += SESSIONS_AT_ONCE) {
            const ids = expired[kind].slice(from, from + SESSIONS_AT_ONCE);
            deleted += await inBatches((tx) =>
              deleteExpired(tx, table, ids, kind, retention, DELETED_AT_ONCE),
            );
          }
        }
        const oldest = await oldestKept(database.db, table, keep);
        if (oldest === null) return deleted;
        return deleted + (await inBatches((tx) => deleteBefore(tx, table, oldest, DELETED_AT_ONCE)));
      };
      const events = await sweep(EVENTS, kept.eventsInAll);
      const samples = await sweep(SAMPLES, kept.samplesInAll);
      const facts = await inBatches((tx) => deleteFacts(tx, retention.endedSince, DELETED_AT_ONCE));
      if (events + samples > 0)
        logger.info({ deleted_events: events, deleted_samples: samples }, 'telemetry.retained');
      return { state: 'succeeded', summary: { events, samples, facts } };
    },
  });

  /** Counts up to a limit. @returns true when the limit is reached, and at the first call for an unknown key */
  function isDue(counts: LRUCache<string, number>, key: string, added: number, limit: number): boolean {
    const since = (counts.get(key) ?? limit) + added;
    counts.set(key, since % limit);
    return since >= limit;
  }

  /** Trims those parts of sessions that are due. */
  async function trimSessions(
    tx: Tx,
    table: ReportTable,
    reports: readonly { part: SessionPart; keep: number }[],
  ): Promise<void> {
    const counts = new Map<string, { part: SessionPart; keep: number; count: number }>();
    for (const { part, keep } of reports) {
      const key = `${table.name} ${part.sessionId} ${part.source} ${part.captures}`;
      const entry = counts.get(key) ?? { part, keep, count: 0 };
      entry.count += 1;
      counts.set(key, entry);
    }
    for (const [key, { part, keep, count }] of counts) {
      if (isDue(untrimmed, key, count, Math.ceil(keep / TRIM_SESSION_PARTS)))
        await trimSession(tx, table, part, keep);
    }
  }

  async function trimEventsOfHosts(tx: Tx, events: readonly SessionTraceEventsTable[]): Promise<void> {
    const hosts = new Map<string, { hostId: string; source: string; bytes: number }>();
    for (const { host_id, source, payload } of events) {
      const key = `${EVENTS.name} ${host_id} ${source}`;
      const host = hosts.get(key) ?? { hostId: host_id, source, bytes: 0 };
      host.bytes += Buffer.byteLength(payload);
      hosts.set(key, host);
    }
    for (const [key, { bytes, ...host }] of hosts) {
      if (isDue(untrimmedOfHosts, key, bytes, kept.bytesOfHost / TRIM_HOST_PARTS))
        await trimHostEvents(tx, host, kept.bytesOfHost);
    }
  }

  async function trimSamplesOfHosts(tx: Tx, samples: readonly SessionSamplesTable[]): Promise<void> {
    const hosts = new Map<string, { hostId: string; source: string; count: number }>();
    for (const { host_id, source } of samples) {
      const key = `${SAMPLES.name} ${host_id} ${source}`;
      const host = hosts.get(key) ?? { hostId: host_id, source, count: 0 };
      host.count += 1;
      hosts.set(key, host);
    }
    for (const [key, { count, ...host }] of hosts) {
      if (isDue(untrimmedOfHosts, key, count, Math.ceil(kept.samplesOfHost / TRIM_HOST_PARTS)))
        await trimHostSamples(tx, host, kept.samplesOfHost);
    }
  }

  return {
    async trim(tx, { events, samples }) {
      await trimSessions(
        tx,
        EVENTS,
        events.map(({ session_id, source, is_capture }) => ({
          part: { sessionId: session_id, source, captures: is_capture === 1 },
          keep: is_capture === 1 ? KEPT_CAPTURES : KEPT_EVENTS,
        })),
      );
      await trimEventsOfHosts(tx, events);
      await trimSessions(
        tx,
        SAMPLES,
        samples.map(({ session_id, source }) => ({
          part: { sessionId: session_id, source },
          keep: keptSamples,
        })),
      );
      await trimSamplesOfHosts(tx, samples);
    },
  };
}

import { LRUCache } from 'lru-cache';
import type { Tx } from '../../platform/database/index.ts';
import type {
  SessionSamplesTable,
  SessionTraceEventsTable,
} from '../../platform/database/tables/telemetry.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  deleteBefore,
  deleteExpired,
  deleteFacts,
  EVENTS,
  oldestKept,
  type ReportTable,
  SAMPLES,
  type SessionPart,
  trimHost,
  trimSession,
} from './retention-store.ts';

/** Kept events of a session and source: the length of a trace; and the captures of a bundle. */
const KEPT_EVENTS = 1_000;
const KEPT_CAPTURES = 200;
/** Kept samples of a session and source: an hour of one each second, and then some. */
const KEPT_SAMPLES = 4_096;
/** Kept events of all sessions: about 60 MB at the usual 300 bytes. */
const KEPT_EVENTS_IN_ALL = 200_000;
/** Kept samples of all sessions: about 600 MB at the usual 600 bytes. */
const KEPT_SAMPLES_IN_ALL = 1_000_000;
/**
 * Kept bytes of one host, for each table and source, so that viewers cannot displace what hosts report. The longest
 * event has 512 KiB, so the counts alone would let one host fill the disk.
 */
const KEPT_BYTES_OF_HOST = 256 * 1024 * 1024;
/** Part of the kept reports of a session after which it is trimmed. */
const TRIM_SESSION_PARTS = 16;
/** Part of the kept bytes after which a host is trimmed. */
const TRIM_HOST_PARTS = 16;
/** One transaction then holds SQLite's only writer for a few milliseconds. */
const DELETED_AT_ONCE = 5_000;
const RETAIN = 'telemetry.retain';
/** Parts of sessions and hosts that are counted in memory; an evicted one is trimmed with its next report. */
const COUNTED_SESSIONS = 8_192;
const COUNTED_HOSTS = 8_192;

/** Bounds what is stored of sessions: by count and bytes as it comes, by age with a leader task. */
export interface Retained {
  /** Trims the sessions and hosts of these new reports where it is due. Call in their transaction. */
  trim(tx: Tx, stored: StoredReports): Promise<void>;
}

export interface StoredReports {
  events: readonly SessionTraceEventsTable[];
  samples: readonly SessionSamplesTable[];
}

/** @param keptBytesOfHost tests lower it */
export function createRetention(
  { clock, config, database, leader, logger }: Platform,
  keptBytesOfHost = KEPT_BYTES_OF_HOST,
): Retained {
  const { rollingMs, postmortemMs, retainEveryMs } = config.telemetry;
  /** Table, session and part → reports since the last trim. */
  const untrimmed = new LRUCache<string, number>({ max: COUNTED_SESSIONS });
  /** Table, host and source → bytes since the last trim. */
  const untrimmedBytes = new LRUCache<string, number>({ max: COUNTED_HOSTS });

  if (retainEveryMs !== null) {
    leader.register({
      id: RETAIN,
      everyMs: retainEveryMs,
      async run(fence) {
        const nowMs = clock.nowMs();
        const retention = { liveSince: nowMs - rollingMs, endedSince: nowMs - postmortemMs };
        const inBatches = async (step: (tx: Tx) => Promise<number>): Promise<number> => {
          let total = 0;
          for (let deleted = DELETED_AT_ONCE; deleted >= DELETED_AT_ONCE; total += deleted) {
            deleted = await database.transaction(async (tx) => {
              await fence.check(tx);
              return step(tx);
            });
          }
          return total;
        };
        const sweep = async (table: ReportTable, keep: number): Promise<number> => {
          const expired = await inBatches((tx) => deleteExpired(tx, table, retention, DELETED_AT_ONCE));
          const oldest = await oldestKept(database.db, table, keep);
          if (oldest === null) return expired;
          return expired + (await inBatches((tx) => deleteBefore(tx, table, oldest, DELETED_AT_ONCE)));
        };
        const events = await sweep(EVENTS, KEPT_EVENTS_IN_ALL);
        const samples = await sweep(SAMPLES, KEPT_SAMPLES_IN_ALL);
        await inBatches((tx) => deleteFacts(tx, retention.endedSince, DELETED_AT_ONCE));
        if (events + samples > 0)
          logger.info({ deleted_events: events, deleted_samples: samples }, 'telemetry.retained');
      },
    });
  }

  /** Counts up to a limit. @returns true once it is reached; the first time of an unknown key as well */
  function isDue(counts: LRUCache<string, number>, key: string, added: number, limit: number): boolean {
    const since = (counts.get(key) ?? limit) + added;
    counts.set(key, since % limit);
    return since >= limit;
  }

  async function trimTable(
    tx: Tx,
    table: ReportTable,
    reports: readonly { part: SessionPart; keep: number; hostId: string; bytes: number }[],
  ): Promise<void> {
    const sessions = new Map<string, { part: SessionPart; keep: number; count: number }>();
    const hosts = new Map<string, { hostId: string; source: string; bytes: number }>();
    for (const { part, keep, hostId, bytes } of reports) {
      const { sessionId, source, captures } = part;
      const sessionKey = `${table.name} ${sessionId} ${source} ${captures}`;
      const session = sessions.get(sessionKey) ?? { part, keep, count: 0 };
      session.count += 1;
      sessions.set(sessionKey, session);
      const hostKey = `${table.name} ${hostId} ${source}`;
      const host = hosts.get(hostKey) ?? { hostId, source, bytes: 0 };
      host.bytes += bytes;
      hosts.set(hostKey, host);
    }
    for (const [key, { part, keep, count }] of sessions) {
      if (isDue(untrimmed, key, count, Math.ceil(keep / TRIM_SESSION_PARTS)))
        await trimSession(tx, table, part, keep);
    }
    for (const [key, { bytes, ...host }] of hosts) {
      if (isDue(untrimmedBytes, key, bytes, keptBytesOfHost / TRIM_HOST_PARTS))
        await trimHost(tx, table, host, keptBytesOfHost);
    }
  }

  return {
    async trim(tx, { events, samples }) {
      await trimTable(
        tx,
        EVENTS,
        events.map(({ session_id, source, host_id, is_capture, payload }) => ({
          part: { sessionId: session_id, source, captures: is_capture === 1 },
          keep: is_capture === 1 ? KEPT_CAPTURES : KEPT_EVENTS,
          hostId: host_id,
          bytes: Buffer.byteLength(payload),
        })),
      );
      await trimTable(
        tx,
        SAMPLES,
        samples.map(({ session_id, source, host_id, metrics }) => ({
          part: { sessionId: session_id, source },
          keep: KEPT_SAMPLES,
          hostId: host_id,
          bytes: Buffer.byteLength(metrics),
        })),
      );
    },
  };
}

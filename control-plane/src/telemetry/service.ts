import { LRUCache } from 'lru-cache';
import type { Tx } from '../platform/database/index.ts';
import type { Platform } from '../platform/platform.ts';
import {
  deleteExpired,
  deleteOldest,
  type EventSource,
  insertEvents,
  isCapture,
  type ReliableEvent,
  trimHost,
  trimSession,
} from './store.ts';

/** Kept events of a session: the length of a trace, and the captures of a bundle. */
const KEPT_EVENTS = 1_000;
const KEPT_CAPTURES = 200;
/** Kept events of all sessions: about 60 MB at the usual 300 bytes. */
const KEPT_IN_ALL = 200_000;
/** Kept bytes of one host. The longest event has 512 KiB, so the counts alone would let one host fill the disk. */
const KEPT_BYTES_OF_HOST = 256 * 1024 * 1024;
/** New events of a session after which it is trimmed. */
const TRIM_EVERY = 64;
/** Part of the kept bytes after which a host is trimmed. */
const TRIM_HOST_PARTS = 16;
/** One transaction then holds SQLite's only writer for a few milliseconds. */
const DELETED_AT_ONCE = 5_000;
const RETAIN = 'telemetry.retain';
/** Sessions and hosts that are counted in memory; an evicted one is counted from the database again. */
const COUNTED_SESSIONS = 4_096;
const COUNTED_HOSTS = 4_096;

/** Events that hosts observed of sessions, with the configured retention. */
export interface Telemetry {
  /**
   * Stores events of this host's sessions in a transaction that may be retried. Repeats change nothing.
   * @param events at least one
   */
  storeEvents(tx: Tx, source: EventSource, events: readonly ReliableEvent[]): Promise<void>;
}

/** @param keptBytesOfHost payload bytes; tests lower it */
export function createTelemetry(
  { clock, config, database, leader, logger }: Platform,
  keptBytesOfHost = KEPT_BYTES_OF_HOST,
): Telemetry {
  const { rollingMs, postmortemMs, retainEveryMs } = config.telemetry;
  /** Session and kind → events since the last trim. */
  const untrimmed = new LRUCache<string, number>({ max: COUNTED_SESSIONS });
  /** Host → bytes since the last trim. */
  const untrimmedBytes = new LRUCache<string, number>({ max: COUNTED_HOSTS });
  const trimHostEvery = keptBytesOfHost / TRIM_HOST_PARTS;

  if (retainEveryMs !== null) {
    leader.register({
      id: RETAIN,
      everyMs: retainEveryMs,
      async run(fence) {
        const nowMs = clock.nowMs();
        const retention = { liveSince: nowMs - rollingMs, endedSince: nowMs - postmortemMs };
        const steps = [
          (tx: Tx) => deleteExpired(tx, retention, DELETED_AT_ONCE),
          (tx: Tx) => deleteOldest(tx, KEPT_IN_ALL, DELETED_AT_ONCE),
        ];
        let events = 0;
        for (const step of steps) {
          for (let deleted = DELETED_AT_ONCE; deleted === DELETED_AT_ONCE; events += deleted) {
            deleted = await database.transaction(async (tx) => {
              await fence.check(tx);
              return step(tx);
            });
          }
        }
        if (events > 0) logger.info({ deleted_events: events }, 'telemetry.retained');
      },
    });
  }

  return {
    async storeEvents(tx, source, events) {
      const stored = await insertEvents(tx, source, events, clock.nowMs());
      for (const [sessionId, captures, count] of countBySession(events)) {
        const key = `${sessionId} ${captures}`;
        const since = (untrimmed.get(key) ?? TRIM_EVERY) + count;
        untrimmed.set(key, since % TRIM_EVERY);
        if (since >= TRIM_EVERY)
          await trimSession(tx, sessionId, captures, captures ? KEPT_CAPTURES : KEPT_EVENTS);
      }
      const bytes = (untrimmedBytes.get(source.hostId) ?? trimHostEvery) + stored;
      untrimmedBytes.set(source.hostId, bytes % trimHostEvery);
      if (bytes >= trimHostEvery) await trimHost(tx, source.hostId, keptBytesOfHost);
    },
  };
}

function countBySession(
  events: readonly ReliableEvent[],
): (readonly [sessionId: string, captures: boolean, count: number])[] {
  const counts = new Map<string, [string, boolean, number]>();
  for (const event of events) {
    const captures = isCapture(event);
    const key = `${event.session_id} ${captures}`;
    const entry = counts.get(key) ?? [event.session_id, captures, 0];
    entry[2] += 1;
    counts.set(key, entry);
  }
  return [...counts.values()];
}

import { HOUR_MS, MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { isUnavailable } from '../platform/database/index.ts';
import type { Fence } from '../platform/leader.ts';
import type { Platform } from '../platform/platform.ts';
import type { SecretKeys } from '../platform/secret-keys.ts';
import { type Head, sealAll, sealingKeyOf } from './chain.ts';
import { insertSeals, listUnsealed, loadNewestSeal, newestEntryId, settledEntryId } from './seal-store.ts';

export const SEALING = 'activity.seal';

/** docs/audit.md promises a minute, also after the failure of the replica with the lease (30 s). */
const EVERY_MS = 10 * SECOND_MS;
/** Entries per transaction: SQLite's write lock is held for some milliseconds. Chosen, not measured. */
const BATCH = 500;
/** A log that was never sealed is sealed over several runs, because a run must end before its lease does. */
const MAX_BATCHES = 20;
const LOG_HEAD_EVERY_MS = HOUR_MS;
/** One warning for ten minutes without seals. */
const RUNS_PER_WARNING = (10 * MINUTE_MS) / EVERY_MS;

type KnownHead = Head & { activity_id: number };

/**
 * Registers the task that seals new entries. One replica seals, shortly after the entries were written, so a write of
 * the log never waits for another one.
 */
export function registerSealing(
  { clock, database, leader, logger }: Pick<Platform, 'clock' | 'database' | 'leader' | 'logger'>,
  { current }: SecretKeys,
): void {
  const key = { version: current.version, key: sealingKeyOf(current) };
  /**
   * The newest seal of this process, as long as it keeps the lease. The next seal continues this one, even if the
   * stored one was deleted: otherwise the chain would fit again, and the deletion would not show.
   */
  let known: { fence: number; head: KnownHead | null } | null = null;
  let headLoggedAtMs: number | null = null;
  /** Runs in a row in which a writer held the log. */
  let failedRuns = 0;

  /** @returns number of entries that were sealed, at most BATCH */
  async function sealBatch(fence: Fence, untilId: number): Promise<number> {
    const remembered = known?.fence === fence.number ? known : null;
    // Forgotten until the commit: if its answer is lost, the next run must read what is stored.
    known = null;
    const { head, sealed, stored } = await database.transaction(async (tx) => {
      await fence.check(tx);
      const stored = (await loadNewestSeal(tx)) ?? null;
      const head = remembered === null ? stored : remembered.head;
      const entries = await listUnsealed(tx, head?.activity_id ?? 0, untilId, BATCH);
      const last = entries.at(-1);
      const seals = sealAll(key, head, entries, clock.nowMs());
      const newest = seals.at(-1);
      if (last === undefined || newest === undefined) return { head, sealed: 0, stored };
      await insertSeals(tx, entries, seals);
      return { head: { ...newest, activity_id: last.id }, sealed: seals.length, stored };
    });
    known = { fence: fence.number, head };
    if (remembered !== null && remembered.head?.hash !== stored?.hash)
      logger.error(
        { number: remembered.head?.number ?? 0, stored: stored?.number ?? 0 },
        'activity.seals_changed',
      );
    return sealed;
  }

  /** Writes the head to the log from time to time, so that it is known outside of the database. */
  function logHead(): void {
    const nowMs = clock.monotonicMs();
    const head = known?.head;
    if (!head || (headLoggedAtMs !== null && nowMs - headLoggedAtMs < LOG_HEAD_EVERY_MS)) return;
    headLoggedAtMs = nowMs;
    logger.info({ number: head.number, head: head.hash }, 'activity.sealed');
  }

  leader.register({
    id: SEALING,
    everyMs: EVERY_MS,
    async run(fence) {
      const isNew = known?.fence !== fence.number;
      if (!isNew && (await newestEntryId(database.db)) <= (known?.head?.activity_id ?? 0)) return;
      let untilId: number;
      try {
        untilId = await settledEntryId(database);
      } catch (error) {
        // A writer holds the log; the next run tries again.
        if (!isUnavailable(error)) throw error;
        failedRuns += 1;
        logger[failedRuns % RUNS_PER_WARNING === 0 ? 'warn' : 'debug']({ err: error }, 'activity.not_sealed');
        return;
      }
      failedRuns = 0;
      for (let batch = 0; batch < MAX_BATCHES; batch += 1)
        if ((await sealBatch(fence, untilId)) < BATCH) break;
      logHead();
    },
  });
}

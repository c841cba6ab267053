import { MINUTE_MS } from '@footlight/platform';
import { sql } from 'kysely';
import type { Executor, Tx } from '../../platform/database/index.ts';
import type { Fence } from '../../platform/leader.ts';
import type { Platform } from '../../platform/platform.ts';

export const KEPT_SESSIONS_SWEEP = 'sessions.retain';

/**
 * Maximum sessions that are kept per person; the newest stay. With 100,000 of them one read of a person's own history
 * took 150 ms of SQLite's only thread, and the removal of the account 2 s.
 */
const MAX_SESSIONS = 10_000;
/**
 * Maximum logs that are kept of one person's ended sessions; the newest stay. A log has at most 64 KiB. Chosen, not
 * measured.
 */
const MAX_LOGS = 100;
/** In this interval a person can launch at most 600 sessions (LAUNCHES_PER_USER), whose logs have 38 MiB. */
const EVERY_MS = 10 * MINUTE_MS;
/** Maximum rows per transaction, so that the write lock is released quickly. Chosen, not measured. */
const BATCH = 500;

/**
 * Registers the task that limits the ended sessions and logs of each person. Otherwise a person who keeps launching an
 * app that prints 64 KiB and exits could fill the database with 5.5 GB a day.
 */
export function registerKeptSessions({
  clock,
  database,
  leader,
}: Pick<Platform, 'clock' | 'database' | 'leader'>): void {
  /** Repeats a batch until it is not full. */
  async function inBatches(fence: Fence, batch: (tx: Tx) => Promise<bigint>): Promise<void> {
    let changed = BigInt(BATCH);
    while (changed >= BATCH) {
      changed = await database.transaction(async (tx) => {
        await fence.check(tx);
        return batch(tx);
      });
    }
  }

  leader.register({
    id: KEPT_SESSIONS_SWEEP,
    everyMs: EVERY_MS,
    async run(fence) {
      await inBatches(fence, (tx) => dropOldLogs(tx));
      // Only these people are checked, because a person without a recent launch has no new sessions.
      for (const userId of await listLaunching(database.db, clock.nowMs() - 3 * EVERY_MS)) {
        const oldest = await oldestKept(database.db, userId);
        if (oldest !== undefined) await inBatches(fence, (tx) => deleteBefore(tx, userId, oldest));
      }
    },
  });
}

/** @returns number of sessions whose log was deleted, at most `BATCH` */
async function dropOldLogs(tx: Tx): Promise<bigint> {
  const surplus = sql<string>`(select id from (
      select id, row_number() over (partition by user_id order by ended_at desc, id desc) as newness
      from sessions where app_log_tail is not null) as logs
    where newness > ${MAX_LOGS} limit ${BATCH})`;
  const { numUpdatedRows } = await tx
    .updateTable('sessions')
    .set({ app_log_tail: null })
    // Skip sessions that are being deleted with their person or host.
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('sessions as old')
        .select('old.id')
        .where('old.id', 'in', surplus)
        .forNoKeyUpdate()
        .skipLocked(),
    )
    .executeTakeFirst();
  return numUpdatedRows;
}

/** Position of a session in the list of its person. */
interface Place {
  id: string;
  created_at: number;
}

async function listLaunching(db: Executor, sinceMs: number): Promise<string[]> {
  const rows = await db
    .selectFrom('sessions')
    .select('user_id')
    .distinct()
    .where('created_at', '>=', sinceMs)
    .execute();
  return rows.map(({ user_id }) => user_id);
}

/** @returns undefined: the person does not have more sessions than are kept */
const oldestKept = (db: Executor, userId: string): Promise<Place | undefined> =>
  db
    .selectFrom('sessions')
    .select(['id', 'created_at'])
    .where('user_id', '=', userId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .offset(MAX_SESSIONS - 1)
    .executeTakeFirst();

/** @returns number of deleted sessions, at most `BATCH` */
async function deleteBefore(tx: Tx, userId: string, { id, created_at }: Place): Promise<bigint> {
  const { numDeletedRows } = await tx
    .deleteFrom('sessions')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('sessions as old')
        .select('old.id')
        .where('old.user_id', '=', userId)
        .where('old.state', 'in', ['stopped', 'failed'])
        .where(sql<boolean>`(old.created_at, old.id) < (cast(${created_at} as bigint), ${id})`)
        .orderBy('old.created_at')
        .limit(BATCH)
        .forNoKeyUpdate()
        .skipLocked(),
    )
    .executeTakeFirst();
  return numDeletedRows;
}

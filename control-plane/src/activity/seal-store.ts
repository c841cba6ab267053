import { type RawBuilder, sql } from 'kysely';
import type { Database, Executor, Tx } from '../platform/database/index.ts';
import type { Entry, Head, ReadEntry, Seal } from './chain.ts';

/** Entries per statement: at most 4 MiB of details. Chosen, not measured. */
const PAGE = 1_000;
/** Longest wait for writers of the log. Later writers wait behind it. */
const LOCK_WAIT: RawBuilder<unknown> = sql`set local lock_timeout = '1s'`;

/** Id of the newest entry that other transactions can read; 0: the log is empty. */
export async function newestEntryId(db: Executor): Promise<number> {
  const row = await db
    .selectFrom('activity')
    .select((eb) => eb.fn.max('id').as('id'))
    .executeTakeFirst();
  return row?.id ?? 0;
}

/**
 * An id below which no further entry can appear. On Postgres an entry may be committed after an entry with a higher id.
 * A share lock waits for all writers that have an id, and is released at once.
 * @throws the driver's error when a writer does not end within a second
 */
export function settledEntryId(database: Database): Promise<number> {
  if (database.dialect === 'sqlite') return newestEntryId(database.db);
  return database.transaction(async (tx) => {
    await LOCK_WAIT.execute(tx);
    await sql`lock table activity in share mode`.execute(tx);
    return newestEntryId(tx);
  });
}

/** The newest seal with the id of its entry; undefined: no entry is sealed. */
export function loadNewestSeal(db: Executor): Promise<(Head & { activity_id: number }) | undefined> {
  return db
    .selectFrom('activity_seals')
    .select(['number', 'hash', 'activity_id'])
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** Entries with ids above `afterId` up to `untilId`, by id. */
export function listUnsealed(tx: Tx, afterId: number, untilId: number, limit: number): Promise<Entry[]> {
  return tx
    .selectFrom('activity')
    .selectAll()
    .where('id', '>', afterId)
    .where('id', '<=', untilId)
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** @param seals one for each entry, in the same order; at least one */
export async function insertSeals(tx: Tx, entries: readonly Entry[], seals: readonly Seal[]): Promise<void> {
  await tx
    .insertInto('activity_seals')
    .values(seals.map((seal, n) => ({ ...seal, activity_id: (entries[n] as Entry).id })))
    .execute();
}

/** The whole log with its seals, by id, and then its newest seal. Call this in a snapshot. */
export async function* readLog(db: Executor): AsyncGenerator<ReadEntry | { head: Head | null }> {
  for (let afterId: number | null = null; ; ) {
    const page = await selectPage(db, afterId);
    for (const { number, sealed_at, key_version, hash, ...entry } of page) {
      const isSealed = number !== null && sealed_at !== null && key_version !== null && hash !== null;
      yield { ...entry, seal: isSealed ? { number, sealed_at, key_version, hash } : null };
    }
    afterId = page.at(-1)?.id ?? null;
    if (page.length < PAGE) break;
  }
  const newest = await loadNewestSeal(db);
  yield { head: newest === undefined ? null : { number: newest.number, hash: newest.hash } };
}

function selectPage(db: Executor, afterId: number | null) {
  return db
    .selectFrom('activity')
    .leftJoin('activity_seals', 'activity_seals.activity_id', 'activity.id')
    .selectAll('activity')
    .select(['number', 'sealed_at', 'key_version', 'hash'])
    .$if(afterId !== null, (query) => query.where('activity.id', '>', afterId as number))
    .orderBy('activity.id')
    .limit(PAGE)
    .execute();
}

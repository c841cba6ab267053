import type { Insertable, Selectable } from 'kysely';
import type { Executor, Tx } from '../platform/database/index.ts';
import type { WebhookEventsTable } from '../platform/database/tables/webhook.ts';

export type EventRow = Selectable<WebhookEventsTable>;

export async function insertEvents(
  tx: Executor,
  events: readonly Insertable<WebhookEventsTable>[],
): Promise<void> {
  await tx.insertInto('webhook_events').values(events).execute();
}

/** The oldest events, in the order of their delivery. */
export function listOldest(db: Executor, limit: number): Promise<EventRow[]> {
  return db.selectFrom('webhook_events').selectAll().orderBy('id').limit(limit).execute();
}

export async function deleteEvent(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('webhook_events').where('id', '=', id).execute();
}

/** Number of waiting events, and the time of the oldest one; null: none waits. */
export async function loadBacklog(db: Executor): Promise<{ count: number; oldestMs: number | null }> {
  const { count } = await db
    .selectFrom('webhook_events')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return { count: Number(count), oldestMs: await oldestTime(db) };
}

/** Time of the event with the lowest id; null: no event waits. */
async function oldestTime(db: Executor): Promise<number | null> {
  const row = await db
    .selectFrom('webhook_events')
    .select('created_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return row?.created_at ?? null;
}

/** Id of the newest event that is too old or has too many newer ones; null: there is none. */
export async function findSurplus(db: Executor, beforeMs: number, max: number): Promise<number | null> {
  const tooMany = await db
    .selectFrom('webhook_events')
    .select('id')
    .orderBy('id', 'desc')
    .offset(max)
    .limit(1)
    .executeTakeFirst();
  const oldestMs = await oldestTime(db);
  const tooOld =
    oldestMs !== null && oldestMs < beforeMs
      ? await db
          .selectFrom('webhook_events')
          .select(({ fn }) => fn.max('id').as('id'))
          .where('created_at', '<', beforeMs)
          .executeTakeFirst()
      : undefined;
  const id = Math.max(tooMany?.id ?? 0, tooOld?.id ?? 0);
  return id === 0 ? null : id;
}

/** @returns number of deleted events */
export async function deleteUpTo(db: Executor, id: number): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('webhook_events').where('id', '<=', id).executeTakeFirst();
  return Number(numDeletedRows);
}

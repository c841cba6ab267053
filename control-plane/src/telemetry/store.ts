import { nonterminalStates } from '@footlight/protocol';
import type { SessionTraceEvent } from '@footlight/protocol/agent';
import { PostgresAdapter, type RawBuilder, sql } from 'kysely';
import { flag, type Tx, toJson } from '../platform/database/index.ts';

/** An event with its number, as the reliable lane carries it. */
export type ReliableEvent = SessionTraceEvent & { seq: number };

/** Whose process reports. */
export interface EventSource {
  hostId: string;
  bootId: string;
}

const NUMBER = ['host_id', 'boot_id', 'seq'] as const;

/** Results of captures have a retention of their own. */
export const isCapture = (event: SessionTraceEvent): boolean => event.event.startsWith('diag.');

/**
 * Stores events; those that are there already change nothing.
 * @param events at least one
 * @returns bytes of all their payloads
 */
export async function insertEvents(
  tx: Tx,
  { hostId, bootId }: EventSource,
  events: readonly ReliableEvent[],
  nowMs: number,
): Promise<number> {
  const rows = events.map((event) => ({
    host_id: hostId,
    boot_id: bootId,
    seq: event.seq,
    session_id: event.session_id,
    ts_unix_ms: event.ts,
    type: event.event,
    payload: toJson(event.payload),
    is_capture: flag(isCapture(event)),
    received_at: nowMs,
  }));
  await tx
    .insertInto('session_trace_events')
    .values(rows)
    .onConflict((conflict) => conflict.columns([...NUMBER]).doNothing())
    .execute();
  return rows.reduce((sum, { payload }) => sum + Buffer.byteLength(payload), 0);
}

/** Deletes the oldest of a session beyond `keep`; those that came together with the last one kept stay. */
export async function trimSession(tx: Tx, sessionId: string, captures: boolean, keep: number): Promise<void> {
  await tx
    .deleteFrom('session_trace_events')
    .where('session_id', '=', sessionId)
    .where('is_capture', '=', flag(captures))
    .where('received_at', '<', (eb) =>
      eb
        .selectFrom('session_trace_events as kept')
        .select('kept.received_at')
        .where('kept.session_id', '=', sessionId)
        .where('kept.is_capture', '=', flag(captures))
        .orderBy('kept.received_at', 'desc')
        .limit(1)
        .offset(keep - 1),
    )
    .execute();
}

/** Deletes the oldest of a host beyond so many bytes; those that came together with the last one kept stay. */
export async function trimHost(tx: Tx, hostId: string, keepBytes: number): Promise<void> {
  // octet_length reads the length alone, and not the payload.
  const beyond = sql<number>`select received_at from
    (select received_at, sum(octet_length(payload)) over (order by received_at desc) as bytes
      from session_trace_events where host_id = ${hostId}) as summed
    where bytes > ${keepBytes} order by received_at desc limit 1`;
  await tx
    .deleteFrom('session_trace_events')
    .where('host_id', '=', hostId)
    .where('received_at', '<', sql<number>`(${beyond})`)
    .execute();
}

export interface Retention {
  /** Of a session that lives: what came before this instant goes. */
  liveSince: number;
  /** Of a session that ended before this instant everything goes but captures. */
  endedSince: number;
}

/**
 * Deletes what nothing keeps any more: see Retention; and what is left of sessions whose rows are gone.
 * @param limit at most this many
 * @returns how many (count)
 */
export async function deleteExpired(tx: Tx, retention: Retention, limit: number): Promise<number> {
  const expired = sql<boolean>`sessions.id is null
    or events.is_capture = 0 and events.received_at < ${retention.liveSince}
      and (sessions.state in (${sql.join(nonterminalStates)}) or sessions.ended_at < ${retention.endedSince})`;
  return deleteFound(
    tx,
    sql`select events.host_id, events.boot_id, events.seq from session_trace_events as events
      left join sessions on sessions.id = events.session_id where ${expired} limit ${limit}`,
  );
}

/** Deletes the oldest beyond `keep`, `limit` at most. @returns how many (count) */
export async function deleteOldest(tx: Tx, keep: number, limit: number): Promise<number> {
  return deleteFound(
    tx,
    sql`select events.host_id, events.boot_id, events.seq from session_trace_events as events
      where events.received_at <
        (select received_at from session_trace_events order by received_at desc limit 1 offset ${keep - 1})
      limit ${limit}`,
  );
}

/** Leaves out what another transaction deletes just now: two that delete the same rows in different orders deadlock. */
async function deleteFound(tx: Tx, found: RawBuilder<unknown>): Promise<number> {
  const isPostgres = tx.getExecutor().adapter instanceof PostgresAdapter;
  const free = isPostgres ? sql` for update of events skip locked` : sql``;
  const result = await tx
    .deleteFrom('session_trace_events')
    .where(sql<boolean>`(host_id, boot_id, seq) in (${found}${free})`)
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

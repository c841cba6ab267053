import { nonterminalStates } from '@footlight/protocol';
import type { SessionTraceEvent } from '@footlight/protocol/agent';
import { PostgresAdapter, type RawBuilder, sql } from 'kysely';
import { flag, type Tx, toJson } from '../platform/database/index.ts';

/** An event of the reliable lane with its number. */
export type ReliableEvent = SessionTraceEvent & { seq: number };

/** The reporting agent process. */
export interface EventSource {
  hostId: string;
  bootId: string;
}

const NUMBER = ['host_id', 'boot_id', 'seq'] as const;

/** Captures have their own retention. */
export const isCapture = (event: SessionTraceEvent): boolean => event.event.startsWith('diag.');

/**
 * Stores events; known ones change nothing.
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

/** Deletes a session's oldest events beyond `keep`; events with the same time as the last kept one stay. */
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

/** Deletes a host's oldest events beyond a number of bytes; events with the same time as the last kept one stay. */
export async function trimHost(tx: Tx, hostId: string, keepBytes: number): Promise<void> {
  // octet_length reads the length without the payload.
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
  /** Events of a live session before this time are deleted. */
  liveSince: number;
  /** Events of a session that ended before this time are deleted, except captures. */
  endedSince: number;
}

/**
 * Deletes expired events (see Retention) and events of deleted sessions.
 * @param limit most rows
 * @returns deleted rows (count)
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

/** Deletes the oldest events beyond `keep`, `limit` at most. @returns deleted rows (count) */
export async function deleteOldest(tx: Tx, keep: number, limit: number): Promise<number> {
  return deleteFound(
    tx,
    sql`select events.host_id, events.boot_id, events.seq from session_trace_events as events
      where events.received_at <
        (select received_at from session_trace_events order by received_at desc limit 1 offset ${keep - 1})
      limit ${limit}`,
  );
}

/** Skips rows that another transaction is deleting: deletes in different orders would deadlock. */
async function deleteFound(tx: Tx, found: RawBuilder<unknown>): Promise<number> {
  const isPostgres = tx.getExecutor().adapter instanceof PostgresAdapter;
  const free = isPostgres ? sql` for update of events skip locked` : sql``;
  const result = await tx
    .deleteFrom('session_trace_events')
    .where(sql<boolean>`(host_id, boot_id, seq) in (${found}${free})`)
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

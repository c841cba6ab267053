import { PostgresAdapter, type RawBuilder, sql } from 'kysely';
import { type Executor, flag, type Tx } from '../../platform/database/index.ts';
import type { Expired, ReportingSession, Retention } from './expiry.ts';

/** A table of reports, each with `session_id`, `host_id`, `source` and `received_at`. */
export interface ReportTable {
  readonly name: 'session_trace_events' | 'session_samples';
  readonly key: readonly string[];
}

export const EVENTS: ReportTable = {
  name: 'session_trace_events',
  key: ['host_id', 'boot_id', 'seq'],
};
export const SAMPLES: ReportTable = {
  name: 'session_samples',
  key: ['session_id', 'source', 'ts_unix_ms'],
};

/** Tables with only a few rows per session. */
const FACTS = ['session_clocks', 'session_rejected_times'] as const;

/** Selects the reports of a session to which one limit applies. */
export interface SessionPart {
  sessionId: string;
  source: string;
  /** Only for events: whether to select captures, which have their own limit. */
  captures?: boolean;
}

/** Deletes the oldest reports beyond `keep`; reports with the same time as the last kept report stay. */
export async function trimSession(
  tx: Tx,
  { name }: ReportTable,
  part: SessionPart,
  keep: number,
): Promise<void> {
  const table = sql.table(name);
  const captures = part.captures === undefined ? sql`` : sql` and is_capture = ${flag(part.captures)}`;
  const inPart = sql`session_id = ${part.sessionId} and source = ${part.source}${captures}`;
  await sql`delete from ${table} where ${inPart} and received_at <
    (select received_at from ${table} where ${inPart} order by received_at desc limit 1 offset ${keep - 1})`.execute(
    tx,
  );
}

/** Deletes a host's oldest events beyond a number of bytes; events with the same time as the last kept event stay. */
export async function trimHostEvents(
  tx: Tx,
  { hostId, source }: { hostId: string; source: string },
  keepBytes: number,
): Promise<void> {
  const ofHost = sql`host_id = ${hostId} and source = ${source}`;
  // octet_length reads the length without the payload.
  await sql`delete from session_trace_events where ${ofHost} and received_at < (select received_at from
    (select received_at, sum(octet_length(payload)) over (order by received_at desc) as bytes
      from session_trace_events where ${ofHost}) as summed
    where bytes > ${keepBytes} order by received_at desc limit 1)`.execute(tx);
}

/**
 * Deletes a host's oldest samples of a source beyond `keep`; samples with the same time as the last kept sample stay.
 */
export async function trimHostSamples(
  tx: Tx,
  { hostId, source }: { hostId: string; source: string },
  keep: number,
): Promise<void> {
  const ofHost = sql`host_id = ${hostId} and source = ${source}`;
  await sql`delete from session_samples where ${ofHost} and received_at <
    (select received_at from session_samples where ${ofHost}
      order by received_at desc limit 1 offset ${keep - 1})`.execute(tx);
}

/**
 * Sessions that have reports. The query steps through an index from one id to the next, so it reads only one row per
 * session.
 */
export async function listReporting(db: Executor, { name }: ReportTable): Promise<ReportingSession[]> {
  const table = sql.table(name);
  const { rows } = await sql<ReportingSession>`with recursive ids(id) as (
      select min(session_id) from ${table}
      union all select (select min(session_id) from ${table} where session_id > ids.id) from ids where ids.id is not null)
    select ids.id, sessions.state, sessions.ended_at from ids left join sessions on sessions.id = ids.id
    where ids.id is not null`.execute(db);
  return rows;
}

/**
 * Deletes reports of sessions.
 * @param ids at least one
 * @param expired see expiry.ts
 * @param limit maximum rows
 * @returns number of deleted rows
 */
export function deleteExpired(
  tx: Tx,
  table: ReportTable,
  ids: readonly string[],
  expired: Exclude<Expired, 'none'>,
  { liveSince }: Retention,
  limit: number,
): Promise<number> {
  const old = expired === 'rolled' ? sql` and reports.received_at < ${liveSince}` : sql``;
  const captures = expired !== 'all' && table === EVENTS ? sql` and reports.is_capture = 0` : sql``;
  return deleteFound(
    tx,
    table,
    sql`select ${keyOf(table)} from ${sql.table(table.name)} as reports
      where reports.session_id in (${sql.join(ids)})${captures}${old} limit ${limit}`,
  );
}

/** Time of the oldest of the `keep` newest reports; null: there are fewer than `keep`. */
export async function oldestKept(db: Executor, { name }: ReportTable, keep: number): Promise<number | null> {
  const { rows } = await sql<{ received_at: number }>`select received_at from ${sql.table(name)}
    order by received_at desc limit 1 offset ${keep - 1}`.execute(db);
  return rows[0]?.received_at ?? null;
}

/** Deletes at most `limit` reports before a time. @returns number of deleted rows */
export function deleteBefore(tx: Tx, table: ReportTable, timeMs: number, limit: number): Promise<number> {
  return deleteFound(
    tx,
    table,
    sql`select ${keyOf(table)} from ${sql.table(table.name)} as reports
      where reports.received_at < ${timeMs} limit ${limit}`,
  );
}

/**
 * Deletes clocks and counts of sessions whose reports were deleted.
 * @param endedSince rows of sessions that ended before this time are deleted
 * @param limit maximum rows per table
 * @returns number of deleted rows in the table with the most deletions
 */
export async function deleteFacts(tx: Tx, endedSince: number, limit: number): Promise<number> {
  let most = 0;
  for (const name of FACTS) {
    const table = sql.table(name);
    const result = await sql`delete from ${table} where session_id in
      (select facts.session_id from ${table} as facts left join sessions on sessions.id = facts.session_id
        where sessions.id is null or sessions.ended_at < ${endedSince} limit ${limit})`.execute(tx);
    most = Math.max(most, Number(result.numAffectedRows ?? 0n));
  }
  return most;
}

const keyOf = ({ key }: ReportTable) => sql.join(key.map((column) => sql.ref(`reports.${column}`)));

/** Skips rows that another transaction is deleting: deletes in different orders could deadlock. */
async function deleteFound(tx: Tx, table: ReportTable, found: RawBuilder<unknown>): Promise<number> {
  const isPostgres = tx.getExecutor().adapter instanceof PostgresAdapter;
  const free = isPostgres ? sql` for update of reports skip locked` : sql``;
  const key = sql.join(table.key.map((column) => sql.ref(column)));
  const result = await sql`delete from ${sql.table(table.name)} where (${key}) in (${found}${free})`.execute(
    tx,
  );
  return Number(result.numAffectedRows ?? 0n);
}

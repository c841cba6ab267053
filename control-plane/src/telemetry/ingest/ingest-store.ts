import { sql } from 'kysely';
import type { Executor, Tx } from '../../platform/database/index.ts';
import type {
  SessionClocksTable,
  SessionRejectedTimesTable,
  SessionSamplesTable,
  SessionTraceEventsTable,
} from '../../platform/database/tables/telemetry.ts';

/** Keeps the number of values in a statement far below SQLite's limit. */
const ROWS_PER_STATEMENT = 256;

/** Stores samples. A sample with the session, source and millisecond of a stored sample is ignored. */
export async function insertSamples(tx: Tx, rows: readonly SessionSamplesTable[]): Promise<void> {
  for (const part of parts(rows))
    await tx
      .insertInto('session_samples')
      .values(part)
      .onConflict((conflict) => conflict.columns(['session_id', 'source', 'ts_unix_ms']).doNothing())
      .execute();
}

/** Stores events. An event with the host, boot and number of a stored event is ignored. */
export async function insertEvents(tx: Tx, rows: readonly SessionTraceEventsTable[]): Promise<void> {
  for (const part of parts(rows))
    await tx
      .insertInto('session_trace_events')
      .values(part)
      .onConflict((conflict) => conflict.columns(['host_id', 'boot_id', 'seq']).doNothing())
      .execute();
}

function parts<Row>(rows: readonly Row[]): Row[][] {
  const result: Row[][] = [];
  for (let from = 0; from < rows.length; from += ROWS_PER_STATEMENT)
    result.push(rows.slice(from, from + ROWS_PER_STATEMENT));
  return result;
}

/** Stores the newest clock of each session. @param rows at most one per session, sorted by id */
export async function putClocks(tx: Tx, rows: readonly SessionClocksTable[]): Promise<void> {
  for (const part of parts(rows)) await putClocksAtOnce(tx, part);
}

async function putClocksAtOnce(tx: Tx, rows: readonly SessionClocksTable[]): Promise<void> {
  await tx
    .insertInto('session_clocks')
    .values([...rows])
    .onConflict((conflict) =>
      conflict.column('session_id').doUpdateSet(({ ref }) => ({
        client_offset_ms: ref('excluded.client_offset_ms'),
        uncertainty_ms: ref('excluded.uncertainty_ms'),
        measured_at: ref('excluded.measured_at'),
      })),
    )
    .execute();
}

/** Adds to the counts. @param rows at most one per session and cause, sorted by both */
export async function addRejectedTimes(tx: Tx, rows: readonly SessionRejectedTimesTable[]): Promise<void> {
  for (const part of parts(rows)) await addRejectedTimesAtOnce(tx, part);
}

async function addRejectedTimesAtOnce(tx: Tx, rows: readonly SessionRejectedTimesTable[]): Promise<void> {
  await tx
    .insertInto('session_rejected_times')
    .values([...rows])
    .onConflict((conflict) =>
      conflict.columns(['session_id', 'cause']).doUpdateSet(({ ref }) => ({
        count: sql<number>`${ref('session_rejected_times.count')} + ${ref('excluded.count')}`,
        last_ts: ref('excluded.last_ts'),
        last_at: ref('excluded.last_at'),
      })),
    )
    .execute();
}

/** Hosts of these sessions by id; deleted sessions, and those without a host, are missing. @param ids at least one */
export async function hostsOfSessions(db: Executor, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await db.selectFrom('sessions').select(['id', 'host_id']).where('id', 'in', ids).execute();
  return new Map(rows.flatMap(({ id, host_id }) => (host_id === null ? [] : [[id, host_id]])));
}

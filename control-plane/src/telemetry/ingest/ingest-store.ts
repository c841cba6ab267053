import { sql } from 'kysely';
import { type Executor, statement, type Tx } from '../../platform/database/index.ts';
import type {
  SessionClocksTable,
  SessionRejectedTimesTable,
  SessionSamplesTable,
  SessionTraceEventsTable,
} from '../../platform/database/tables/telemetry.ts';

/** Keeps the values of a statement far below the bound of SQLite. */
const ROWS_PER_STATEMENT = 256;

type Cell = string | number;
/** A list for each column, all equally long. */
type Columns = Readonly<Record<string, readonly Cell[]>>;
type NoValues = Record<never, never>;

const insertSampleColumns = statement((db, columns: Columns, _values: NoValues) =>
  db
    .insertInto('session_samples')
    .values(rowsOf<SessionSamplesTable>(columns))
    .onConflict((conflict) => conflict.columns(['session_id', 'source', 'ts_unix_ms']).doNothing()),
);

const insertEventColumns = statement((db, columns: Columns, _values: NoValues) =>
  db
    .insertInto('session_trace_events')
    .values(rowsOf<SessionTraceEventsTable>(columns))
    .onConflict((conflict) => conflict.columns(['host_id', 'boot_id', 'seq']).doNothing()),
);

/** Stores samples; a session's known source and millisecond changes nothing. */
export const insertSamples = (tx: Tx, rows: readonly SessionSamplesTable[]): Promise<void> =>
  inParts(rows, (columns) => insertSampleColumns(tx, columns, {}));

/** Stores events; a known number changes nothing. */
export const insertEvents = (tx: Tx, rows: readonly SessionTraceEventsTable[]): Promise<void> =>
  inParts(rows, (columns) => insertEventColumns(tx, columns, {}));

async function inParts<Row extends object>(
  rows: readonly Row[],
  insert: (columns: Columns) => Promise<unknown>,
): Promise<void> {
  await Promise.all(parts(rows).map((part) => insert(columnsOf(part))));
}

function parts<Row>(rows: readonly Row[]): Row[][] {
  const result: Row[][] = [];
  for (let from = 0; from < rows.length; from += ROWS_PER_STATEMENT)
    result.push(rows.slice(from, from + ROWS_PER_STATEMENT));
  return result;
}

const columnsOf = (rows: readonly object[]): Columns =>
  Object.fromEntries(
    Object.keys(rows[0] ?? {}).map((column) => [
      column,
      rows.map((row) => (row as Record<string, Cell>)[column] as Cell),
    ]),
  );

function rowsOf<Row>(columns: Columns): Row[] {
  const names = Object.keys(columns);
  const count = columns[names[0] as string]?.length ?? 0;
  return Array.from(
    { length: count },
    (_, n) => Object.fromEntries(names.map((name) => [name, columns[name]?.[n]])) as Row,
  );
}

/** Stores the newest clock of each session. @param rows one for a session, sorted by id */
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

/** Adds to the counts. @param rows one for a session and cause, sorted by both */
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

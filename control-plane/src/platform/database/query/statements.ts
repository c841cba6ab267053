import { createHash } from 'node:crypto';
import {
  type Compilable,
  CompiledQuery,
  type DatabaseConnection,
  type Insertable,
  type Kysely,
  PostgresAdapter,
} from 'kysely';
import type { Executor } from '../database.ts';
import { type Locks, POSTGRES_LOCKS, SQLITE_LOCKS } from '../locks/locks.ts';
import type { Schema } from '../schema.ts';
import type { Values } from './prepared.ts';

/** Values of which a statement takes any number, by name. None of them is empty. */
type Lists = Readonly<Record<string, readonly (string | number | null)[]>>;

/** Stands for a value while its statement is made. */
class StandIn {
  /** @param at place in the list of that name; null: no list */
  constructor(
    readonly name: string,
    readonly at: number | null,
  ) {}
}

interface Line {
  readonly connection: DatabaseConnection;
  /** The last error that was no echo of another; undefined: none. */
  failure: unknown;
}

/** What Postgres says of every statement after the one that failed. */
const TRANSACTION_ABORTED = '25P02';

/** The connections of open transactions, and of others who have one for themselves. */
const lines = new WeakMap<Executor, Line>();

/** Lets the statements made here reach the one connection of `db` past kysely's queue of one. */
export async function onOneConnection<T>(db: Executor, work: () => Promise<T>): Promise<T> {
  const connection = await db.getExecutor().provideConnection(async (held) => held);
  lines.set(db, { connection, failure: undefined });
  try {
    return await work();
  } finally {
    lines.delete(db);
  }
}

/** Names of the statements of which Postgres keeps the plan, by their texts. */
const names = new Map<string, string>();

/** Names hold for a connection, so the same text must have the same one. */
export function nameStatement(text: string): string {
  const name = `footlight_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
  names.set(text, name);
  return name;
}

/** @returns undefined: the text was made for one use */
export const statementName = (text: string): string | undefined => names.get(text);

/**
 * Makes a statement for store functions, which run inside a transaction or outside one: its SQL is made once for a
 * database and a size of its lists. Of sizes there are few; what is left over of a list says its last value again.
 * Those of one transaction may be given together. They run one after the other as they were given, and Postgres is
 * not waited for between them.
 * @param build must not decide anything by a value: it sees stand-ins
 */
export function statement<Of extends Lists, Bound extends Values, Row>(
  build: (db: Kysely<Schema>, lists: Of, values: Bound, locks: Locks) => Compilable<Row>,
): (db: Executor, lists: Of, values: Bound) => Promise<Row[]> {
  const make = perDatabase((db) =>
    bySize((sizes) => {
      const lists = Object.entries(sizes).map(([name, size]) => [
        name,
        Array.from({ length: size }, (_, n) => new StandIn(name, n)),
      ]);
      const values = new Proxy({}, { get: (_target, name) => new StandIn(String(name), null) });
      const { sql, parameters } = build(
        db,
        Object.fromEntries(lists) as Of,
        values as Bound,
        locksOf(db),
      ).compile();
      nameStatement(sql);
      return { sql, parameters };
    }),
  );
  return (db, lists, values) => {
    // A plugin is there to see each query.
    if (db.getExecutor().plugins.length > 0) return run(db, build(db, lists, values, locksOf(db)).compile());
    const sizes: Record<string, number> = {};
    for (const name in lists) sizes[name] = 2 ** Math.ceil(Math.log2(lists[name]!.length));
    const { sql, parameters } = make(db)(sizes);
    const bound = new Array<unknown>(parameters.length);
    for (let n = 0; n < bound.length; n++) {
      const parameter = parameters[n];
      if (!(parameter instanceof StandIn)) bound[n] = parameter;
      else if (parameter.at === null) bound[n] = values[parameter.name];
      else {
        const list = lists[parameter.name] as Lists[string];
        bound[n] = list[Math.min(parameter.at, list.length - 1)];
      }
    }
    return run(db, CompiledQuery.raw(sql, bound));
  };
}

/**
 * Makes an insert of any number of rows: of few statements, since each is made for a power of two. All rows of one
 * call name the same columns.
 */
export function insertStatement<Table extends keyof Schema & string>(
  table: Table,
): (db: Executor, rows: readonly Insertable<Schema[Table]>[]) => Promise<void> {
  const make = perDatabase((db) =>
    bySize((size, columns) => {
      const row = Object.fromEntries(columns.map((column) => [column, 0]));
      const rows = Array.from({ length: size.rows as number }, () => row);
      const { sql } = db
        .insertInto(table)
        .values(rows as never)
        .compile();
      nameStatement(sql);
      return sql;
    }),
  );
  return async (db, rows) => {
    const columns = Object.keys(rows[0] ?? {});
    const given: Promise<unknown>[] = [];
    for (let at = 0, size: number; at < rows.length; at += size) {
      size = 2 ** Math.floor(Math.log2(rows.length - at));
      const values = rows
        .slice(at, at + size)
        .flatMap((row) => columns.map((column) => row[column as keyof typeof row]));
      given.push(run(db, CompiledQuery.raw(make(db)({ rows: size }, columns), values)));
    }
    await Promise.all(given);
  };
}

const locksOf = (db: Executor): Locks =>
  db.getExecutor().adapter instanceof PostgresAdapter ? POSTGRES_LOCKS : SQLITE_LOCKS;

async function run<Row>(db: Executor, query: CompiledQuery<Row>): Promise<Row[]> {
  const line = lines.get(db);
  if (line === undefined) return (await db.executeQuery(query)).rows;
  try {
    return (await line.connection.executeQuery<Row>(query)).rows;
  } catch (error) {
    // Of statements that were given together, whichever is heard first has to say what was wrong.
    if ((error as { code?: unknown }).code === TRANSACTION_ABORTED) throw line.failure ?? error;
    line.failure = error;
    throw error;
  }
}

/** Keeps something for each database, whose transactions share it. */
function perDatabase<T>(make: (db: Executor) => T): (db: Executor) => T {
  const made = new WeakMap<object, T>();
  return (db) => {
    const { adapter } = db.getExecutor();
    let one = made.get(adapter);
    if (one === undefined) {
      one = make(db);
      made.set(adapter, one);
    }
    return one;
  };
}

function bySize<T>(
  make: (sizes: Readonly<Record<string, number>>, columns: readonly string[]) => T,
): (sizes: Readonly<Record<string, number>>, columns?: readonly string[]) => T {
  const made = new Map<string, T>();
  return (sizes, columns = []) => {
    const key = `${Object.values(sizes)}:${columns}`;
    let one = made.get(key);
    if (one === undefined) {
      one = make(sizes, columns);
      made.set(key, one);
    }
    return one;
  };
}

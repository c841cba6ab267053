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

/** Named values of a statement. */
export type BoundValues = Readonly<Record<string, string | number | null>>;

/** Named lists of any length above zero. */
type Lists = Readonly<Record<string, readonly (string | number | null)[]>>;

/** Placeholder of a value while the statement is built. */
class StandIn {
  /** @param at index in the list of that name; null: no list */
  constructor(
    readonly name: string,
    readonly at: number | null,
  ) {}
}

interface Line {
  readonly connection: DatabaseConnection;
  /** The last original error of the connection; undefined: none. */
  failure: unknown;
}

/** Postgres answers every statement after a failed one with this code. */
const TRANSACTION_ABORTED = '25P02';

/** Connections of open transactions and of batched reads. */
const lines = new WeakMap<Executor, Line>();

/** Lets prepared statements reach the one connection of `db`, past kysely's queue of one. */
export async function onOneConnection<T>(db: Executor, work: () => Promise<T>): Promise<T> {
  const connection = await db.getExecutor().provideConnection(async (held) => held);
  lines.set(db, { connection, failure: undefined });
  try {
    return await work();
  } finally {
    lines.delete(db);
  }
}

/** Digests of statements by text; Postgres keeps the plan of a named statement. */
const digests = new Map<string, string>();
/** Part of every name. */
let generation = 0;

/** The same text must always have the same name on a connection. */
function nameStatement(text: string): void {
  digests.set(text, createHash('sha256').update(text).digest('hex').slice(0, 32));
}

/** @returns undefined: a one-time text */
export function statementName(text: string): string | undefined {
  const digest = digests.get(text);
  return digest && `footlight_${generation}_${digest}`;
}

/**
 * Gives all statements another name, so that Postgres plans them again.
 * @param name of a statement whose plan is outdated; another one may have told so before
 */
export function renameStatements(name: string): void {
  if (name.startsWith(`footlight_${generation}_`)) generation += 1;
}

/**
 * Prepares a statement for store functions, inside or outside a transaction: its SQL is made once for each database
 * and list size. There are few sizes; spare places of a list repeat its last value. Statements of one transaction may
 * be sent together; they run in order, and Postgres is not waited for in between.
 * @param build sees placeholders, so it must not branch on a value
 */
export function statement<Of extends Lists, Bound extends BoundValues, Row>(
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
    // Plugins must see each query.
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
 * Prepares an insert of any number of rows, as statements for powers of two. All rows of one call have the same
 * columns.
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
    // Of statements sent together, an echo may be read first; report the original error.
    if ((error as { code?: unknown }).code === TRANSACTION_ABORTED) throw line.failure ?? error;
    line.failure = error;
    throw error;
  }
}

/** Caches a value for each database; its transactions share it. */
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

import type { Compilable, Kysely } from 'kysely';
import type { Database } from '../database.ts';
import type { Schema } from '../schema.ts';

/** Named values of a prepared query. */
export type Values = Readonly<Record<string, string | number | null>>;

/** Prepared SQL with its parameters. */
export interface PreparedSql<Bound extends Values> {
  readonly sql: string;
  /** Parameters in the order of the SQL. */
  bind(values: Bound): unknown[];
}

/** Placeholder of a value while the query is built. */
class StandIn {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * Prepares the SQL of a query. Building and compiling a query takes several times as long as a look-up by key.
 * @param build sees placeholders, so it must not branch on a value
 */
export function prepareSql<Bound extends Values>(
  db: Kysely<Schema>,
  build: (db: Kysely<Schema>, values: Bound) => Compilable,
): PreparedSql<Bound> {
  const standIns = new Proxy({}, { get: (_target, name) => new StandIn(String(name)) });
  const { sql, parameters } = build(db, standIns as Bound).compile();
  return {
    sql,
    bind: (values) =>
      parameters.map((parameter) => (parameter instanceof StandIn ? values[parameter.name] : parameter)),
  };
}

/** Prepares a query for any number of keys. Only a few sizes are prepared; spare places repeat the last key. */
export function prepareForKeys<Bound extends Values, Row>(
  database: Pick<Database, 'prepare'>,
  build: (db: Kysely<Schema>, keys: readonly string[], values: Bound) => Compilable<Row>,
): (keys: readonly string[], values: Bound) => Promise<Row[]> {
  const bySlots = new Map<number, (values: Values) => Promise<Row[]>>();
  return async (keys, values) => {
    if (keys.length === 0) return [];
    const slots = 2 ** Math.ceil(Math.log2(keys.length));
    let find = bySlots.get(slots);
    if (find === undefined) {
      find = database.prepare<Values, Row>((db, standIns) =>
        build(
          db,
          Array.from({ length: slots }, (_, n) => standIns[keyName(n)] as string),
          standIns as Bound,
        ),
      );
      bySlots.set(slots, find);
    }
    const bound: Record<string, Values[string]> = { ...values };
    for (let n = 0; n < slots; n++) bound[keyName(n)] = keys[Math.min(n, keys.length - 1)] as string;
    return find(bound);
  };
}

/** No value of a query has such a name. */
const keyName = (n: number): string => `key ${n}`;

import type { Compilable, Kysely } from 'kysely';
import type { Database } from '../database.ts';
import type { Schema } from '../schema.ts';

/** What a prepared query binds, by name. */
export type Values = Readonly<Record<string, string | number | null>>;

/** SQL that was made once, and how values come into it. */
export interface PreparedSql<Bound extends Values> {
  readonly sql: string;
  /** Parameters in the order of the SQL. */
  bind(values: Bound): unknown[];
}

/** Stands for a value while its query is made. */
class StandIn {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * Makes the SQL of a query whose values come later. Building a query and turning it into SQL takes several times as
 * long as a look-up by key.
 * @param build must not decide anything by a value: it sees stand-ins
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

/**
 * Makes a query that looks several keys up, in any number. It is prepared for few sizes only, and what is left over
 * asks for the last key again.
 */
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

/** No value of a query's own has such a name. */
const keyName = (n: number): string => `key ${n}`;

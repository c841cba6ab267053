import type { Compilable, Kysely } from 'kysely';
import type { Schema } from './schema.ts';

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

import { type RawBuilder, sql } from 'kysely';

/**
 * A VALUES list with one row for each value. Without a name list it names its columns column1, column2, … in both
 * databases.
 */
export const values = <Columns>(rows: readonly RawBuilder<unknown>[]) =>
  sql<Columns>`(values ${sql.join(rows)})`.as('written');

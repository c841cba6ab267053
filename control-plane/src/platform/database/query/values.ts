import { type RawBuilder, sql } from 'kysely';

/** One row for each value. A bare VALUES list names its columns column1, column2, … in both databases. */
export const values = <Columns>(rows: readonly RawBuilder<unknown>[]) =>
  sql<Columns>`(values ${sql.join(rows)})`.as('written');

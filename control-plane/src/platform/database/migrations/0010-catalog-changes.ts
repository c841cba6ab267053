import type { SchemaStep } from '../schema-step.ts';

/** What each version of the catalog changed, so that lists that are kept are made anew only where it concerns them. */
export const catalogChangesMigration: SchemaStep = {
  name: '0010-catalog-changes',
  async up(db) {
    await db.schema
      .createTable('catalog_changes')
      .addColumn('version', 'bigint', (c) => c.primaryKey())
      // Neither refers to its table: a change outlives what it was about.
      .addColumn('app_id', 'text')
      .addColumn('user_id', 'text')
      .execute();
  },
};

import type { SchemaStep } from '../schema-step.ts';

/**
 * Seals of the activity log. They are in a table of their own, because rows of `activity` never change after they were
 * inserted, and because replicas of an older release insert entries without a seal.
 */
export const audit: SchemaStep = {
  name: '0003-audit',
  async up(db) {
    await db.schema
      .createTable('activity_seals')
      .addColumn('number', 'bigint', (c) => c.primaryKey())
      // No foreign key: a seal must stay if somebody deletes its entry.
      .addColumn('activity_id', 'bigint', (c) => c.notNull().unique())
      .addColumn('sealed_at', 'bigint', (c) => c.notNull())
      .addColumn('key_version', 'bigint', (c) => c.notNull())
      .addColumn('hash', 'text', (c) => c.notNull())
      .execute();
  },
};

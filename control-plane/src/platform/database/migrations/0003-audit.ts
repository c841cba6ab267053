import type { SchemaStep } from '../schema-step.ts';

/**
 * Seals of the activity log, and events that wait for the webhook. The seals are in a table of their own, because rows
 * of `activity` never change after they were inserted, and because replicas of an older release insert entries without
 * a seal.
 */
export const audit: SchemaStep = {
  name: '0003-audit',
  async up(db, dialect) {
    await db.schema
      .createTable('activity_seals')
      .addColumn('number', 'bigint', (c) => c.primaryKey())
      // No foreign key: a seal must stay if somebody deletes its entry.
      .addColumn('activity_id', 'bigint', (c) => c.notNull().unique())
      .addColumn('sealed_at', 'bigint', (c) => c.notNull())
      .addColumn('key_version', 'bigint', (c) => c.notNull())
      .addColumn('hash', 'text', (c) => c.notNull())
      .execute();

    const events = db.schema.createTable('webhook_events');
    const numbered =
      dialect === 'sqlite'
        ? events.addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
        : events.addColumn('id', 'bigserial', (c) => c.primaryKey());
    await numbered
      .addColumn('event_id', 'text', (c) => c.notNull())
      .addColumn('body', 'text', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .execute();
  },
};

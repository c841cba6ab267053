import type { SchemaStep } from '../../schema-step.ts';

/** Leases of leader tasks, and the activity log. */
export const platformMigration: SchemaStep = {
  name: '0000-platform',
  async up(db, dialect) {
    await db.schema
      .createTable('leases')
      .addColumn('name', 'text', (c) => c.primaryKey())
      .addColumn('holder', 'text', (c) => c.notNull())
      .addColumn('fence', 'bigint', (c) => c.notNull())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .execute();

    const activity = db.schema.createTable('activity');
    // Numbers are never reused, otherwise a page's cursor could skip a row.
    const numbered =
      dialect === 'sqlite'
        ? activity.addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
        : activity.addColumn('id', 'bigserial', (c) => c.primaryKey());
    await numbered
      .addColumn('actor_user_id', 'text')
      .addColumn('action', 'text', (c) => c.notNull())
      .addColumn('target_type', 'text', (c) => c.notNull())
      .addColumn('target_id', 'text')
      .addColumn('details', 'text', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .execute();
    await db.schema.createIndex('activity_by_action').on('activity').columns(['action', 'id']).execute();
    await db.schema
      .createIndex('activity_by_actor')
      .on('activity')
      .columns(['actor_user_id', 'id'])
      .execute();
  },
};

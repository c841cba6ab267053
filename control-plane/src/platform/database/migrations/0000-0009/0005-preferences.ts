import type { SchemaStep } from '../../schema-step.ts';

/** Preferences of people, and the device of a session's launch. */
export const preferencesMigration: SchemaStep = {
  name: '0005-preferences',
  async up(db) {
    await db.schema
      .createTable('user_preferences')
      .addColumn('user_id', 'text', (c) => c.primaryKey().references('users.id').onDelete('cascade'))
      .addColumn('ui_preferences', 'text', (c) => c.notNull().defaultTo('{}'))
      .execute();

    // null for sessions of earlier releases.
    await db.schema
      .alterTable('sessions')
      .addColumn('device_id', 'text', (c) => c.references('devices.id').onDelete('set null'))
      .execute();
    await db.schema
      .createIndex('sessions_device')
      .on('sessions')
      .columns(['device_id', 'created_at'])
      .execute();
  },
};

import type { SchemaStep } from '../schema-step.ts';

/** What people set for themselves, and which device a session was launched from. */
export const preferencesMigration: SchemaStep = {
  name: '0005-preferences',
  async up(db) {
    await db.schema
      .createTable('user_preferences')
      .addColumn('user_id', 'text', (c) => c.primaryKey().references('users.id').onDelete('cascade'))
      .addColumn('ui_preferences', 'text', (c) => c.notNull().defaultTo('{}'))
      .execute();

    // Sessions of earlier releases were launched from no known device.
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

import type { SchemaStep } from '../schema-step.ts';

/** The change of app inside a running session, which outlives a restart of this service. */
export const sessionLifeMigration: SchemaStep = {
  name: '0013-session-life',
  async up(db) {
    // One column for each statement: SQLite adds no more at a time.
    await db.schema
      .alterTable('sessions')
      .addColumn('swap_app_id', 'text', (c) => c.references('apps.id').onDelete('set null'))
      .execute();
    await db.schema.alterTable('sessions').addColumn('swap_home_app_id', 'text').execute();
    await db.schema.alterTable('sessions').addColumn('swap_state', 'text').execute();
  },
};

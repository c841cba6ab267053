import { sql } from 'kysely';
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
    // Asked when an app is deleted; nearly no session changes its app at the moment.
    await db.schema
      .createIndex('sessions_by_swap_app')
      .on('sessions')
      .column('swap_app_id')
      .where(sql.ref('swap_app_id'), 'is not', null)
      .execute();
  },
};

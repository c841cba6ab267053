import { sql } from 'kysely';
import type { SchemaStep } from '../../schema-step.ts';

/** The pending swap of a session, which survives a restart of the service. No step has the number 12. */
export const sessionLifeMigration: SchemaStep = {
  name: '0013-session-life',
  async up(db) {
    // SQLite adds only one column per statement.
    await db.schema
      .alterTable('sessions')
      .addColumn('swap_app_id', 'text', (c) => c.references('apps.id').onDelete('set null'))
      .execute();
    await db.schema.alterTable('sessions').addColumn('swap_home_app_id', 'text').execute();
    await db.schema.alterTable('sessions').addColumn('swap_state', 'text').execute();
    // For the deletion of an app. Partial: few sessions have a pending swap.
    await db.schema
      .createIndex('sessions_by_swap_app')
      .on('sessions')
      .column('swap_app_id')
      .where(sql.ref('swap_app_id'), 'is not', null)
      .execute();
  },
};

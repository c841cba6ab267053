import { sql } from 'kysely';
import type { SchemaStep } from '../schema-step.ts';

/**
 * The administrators' list of sessions is sorted by user, app or host without reading the rows of ended sessions: the
 * three indexes get the state, the time and the id.
 */
export const sessionOrder: SchemaStep = {
  name: '0002-session-order',
  async up(db) {
    const indexes = [
      ['sessions_user', ['user_id', 'created_at', 'id', 'state']],
      ['sessions_app', ['app_id', 'state', 'created_at', 'id']],
      ['sessions_host', ['host_id', 'state', 'created_at', 'id']],
    ] as const;
    for (const [name, columns] of indexes) {
      await db.schema.dropIndex(name).execute();
      await db.schema
        .createIndex(name)
        .on('sessions')
        .columns([...columns])
        .execute();
    }
    // Partial index for the list of failed sessions: few sessions failed.
    await db.schema
      .createIndex('sessions_failed')
      .on('sessions')
      .columns(['created_at', 'id'])
      .where(sql.ref('state'), '=', 'failed')
      .execute();
  },
};

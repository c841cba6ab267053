import { sql } from 'kysely';
import type { SchemaStep } from '../schema-step.ts';

/** For the bound on the logs of one person. Partial, because few sessions have one. */
export const sessionLogsMigration: SchemaStep = {
  name: '0029-session-logs',
  async up(db) {
    await db.schema
      .createIndex('sessions_with_log')
      .on('sessions')
      .columns(['user_id', 'ended_at', 'id'])
      .where(sql.ref('app_log_tail'), 'is not', null)
      .execute();
  },
};

import { sql } from 'kysely';
import type { SchemaStep } from '../../schema-step.ts';

/** Target of a session's picture: viewers, the console, or both. */
export const sessionTopologyMigration: SchemaStep = {
  name: '0014-session-topology',
  async up(db) {
    await db.schema
      .alterTable('sessions')
      .addColumn('video_topology', 'text', (c) => c.notNull().defaultTo('stream_only'))
      .execute();
    // For each report of a host with a console: its newest console session. Partial: few sessions are one.
    await db.schema
      .createIndex('sessions_beside_host')
      .on('sessions')
      .columns(['host_id', 'created_at'])
      .where(sql.ref('video_topology'), '!=', 'stream_only')
      .execute();
  },
};

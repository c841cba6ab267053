import { sql } from 'kysely';
import type { SchemaStep } from '../schema-step.ts';

/** Where the picture of a session goes: to viewers, to a display beside its host, or to both. */
export const sessionTopologyMigration: SchemaStep = {
  name: '0014-session-topology',
  async up(db) {
    await db.schema
      .alterTable('sessions')
      .addColumn('video_topology', 'text', (c) => c.notNull().defaultTo('stream_only'))
      .execute();
    // Asked at each report of a host with a display: its newest session there. Nearly no session is one.
    await db.schema
      .createIndex('sessions_beside_host')
      .on('sessions')
      .columns(['host_id', 'created_at'])
      .where(sql.ref('video_topology'), '!=', 'stream_only')
      .execute();
  },
};

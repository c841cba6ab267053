import type { SchemaStep } from '../schema-step.ts';

/**
 * Recordings of sessions, which lie on their hosts. Without foreign keys, like the events: a row is gone a day after it
 * was made, and is read only together with its session.
 */
export const recordingsMigration: SchemaStep = {
  name: '0020-recordings',
  async up(db) {
    await db.schema
      .createTable('session_recordings')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('session_id', 'text', (c) => c.notNull())
      .addColumn('host_id', 'text', (c) => c.notNull())
      .addColumn('state', 'text', (c) => c.notNull())
      .addColumn('bytes', 'bigint')
      .addColumn('duration_ms', 'bigint')
      .addColumn('error', 'text')
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .execute();
    // The list of a session, newest first.
    await db.schema
      .createIndex('session_recordings_by_session')
      .on('session_recordings')
      .columns(['session_id', 'created_at', 'id'])
      .execute();
    // For the retention sweep.
    await db.schema
      .createIndex('session_recordings_by_expiry')
      .on('session_recordings')
      .column('expires_at')
      .execute();
  },
};

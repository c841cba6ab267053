import type { SchemaStep } from '../../schema-step.ts';

/**
 * Events of the reliable lane. Without foreign keys to sessions and hosts, whose locks would join the lock order of
 * sessions; the sweep deletes events of deleted sessions.
 */
export const sessionTraceMigration: SchemaStep = {
  name: '0016-session-trace',
  async up(db) {
    await db.schema
      .createTable('session_trace_events')
      .addColumn('host_id', 'text', (c) => c.notNull())
      .addColumn('boot_id', 'text', (c) => c.notNull())
      .addColumn('seq', 'bigint', (c) => c.notNull())
      .addColumn('session_id', 'text', (c) => c.notNull())
      .addColumn('ts_unix_ms', 'bigint', (c) => c.notNull())
      .addColumn('type', 'text', (c) => c.notNull())
      .addColumn('payload', 'text', (c) => c.notNull())
      .addColumn('is_capture', 'integer', (c) => c.notNull())
      .addColumn('received_at', 'bigint', (c) => c.notNull())
      .addPrimaryKeyConstraint('session_trace_events_by_number', ['host_id', 'boot_id', 'seq'])
      .execute();
    // For new events of a session, and for reading its trace.
    await db.schema
      .createIndex('session_trace_events_by_session')
      .on('session_trace_events')
      .columns(['session_id', 'is_capture', 'received_at'])
      .execute();
    // For the retention sweep.
    await db.schema
      .createIndex('session_trace_events_by_age')
      .on('session_trace_events')
      .column('received_at')
      .execute();
  },
};

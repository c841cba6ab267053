import { type Kysely, sql } from 'kysely';
import type { Schema } from '../../schema.ts';

/**
 * Events, samples and clocks of sessions, and recordings, whose files are on their hosts. There are no foreign keys to
 * sessions and hosts, because their locks would have to follow the lock order of sessions. Sweeps delete the rows of
 * deleted sessions.
 */
export async function createTelemetry(db: Kysely<Schema>): Promise<void> {
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
    .addColumn('source', 'text', (c) => c.notNull().defaultTo('agent'))
    .addColumn('received_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('session_trace_events_by_number', ['host_id', 'boot_id', 'seq'])
    .execute();
  // Index for new events of a session, and for reading its trace.
  await db.schema
    .createIndex('session_trace_events_by_session')
    .on('session_trace_events')
    .columns(['session_id', 'is_capture', 'received_at'])
    .execute();
  // Index for the retention sweep.
  await db.schema
    .createIndex('session_trace_events_by_age')
    .on('session_trace_events')
    .column('received_at')
    .execute();
  // Index for reading one capture by its id, which is the first key of its stored payload (capture-store.ts).
  await sql`create index session_captures_by_id on session_trace_events (session_id, substr(payload, 1, 52))
    where is_capture = 1`.execute(db);

  await db.schema
    .createTable('session_samples')
    .addColumn('session_id', 'text', (c) => c.notNull())
    .addColumn('source', 'text', (c) => c.notNull())
    .addColumn('ts_unix_ms', 'bigint', (c) => c.notNull())
    .addColumn('host_id', 'text', (c) => c.notNull())
    .addColumn('metrics', 'text', (c) => c.notNull())
    .addColumn('received_at', 'bigint', (c) => c.notNull())
    // The key is also the order of reads.
    .addPrimaryKeyConstraint('session_samples_by_time', ['session_id', 'source', 'ts_unix_ms'])
    .execute();
  // Index for the limit per session.
  await db.schema
    .createIndex('session_samples_by_session')
    .on('session_samples')
    .columns(['session_id', 'source', 'received_at'])
    .execute();
  // Index for the limit per host, which counts the samples of each source separately.
  await db.schema
    .createIndex('session_samples_by_host')
    .on('session_samples')
    .columns(['host_id', 'source', 'received_at'])
    .execute();
  // Index for the retention sweep.
  await db.schema.createIndex('session_samples_by_age').on('session_samples').column('received_at').execute();

  await db.schema
    .createTable('session_clocks')
    .addColumn('session_id', 'text', (c) => c.primaryKey())
    .addColumn('client_offset_ms', sql`double precision`, (c) => c.notNull())
    .addColumn('uncertainty_ms', sql`double precision`, (c) => c.notNull())
    .addColumn('measured_at', 'bigint', (c) => c.notNull())
    .execute();

  await db.schema
    .createTable('session_rejected_times')
    .addColumn('session_id', 'text', (c) => c.notNull())
    .addColumn('cause', 'text', (c) => c.notNull())
    .addColumn('count', 'bigint', (c) => c.notNull())
    .addColumn('last_ts', sql`double precision`, (c) => c.notNull())
    .addColumn('last_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('session_rejected_times_by_cause', ['session_id', 'cause'])
    .execute();

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
  // Index for the recordings of a session, newest first.
  await db.schema
    .createIndex('session_recordings_by_session')
    .on('session_recordings')
    .columns(['session_id', 'created_at', 'id'])
    .execute();
  // Index for the retention sweep.
  await db.schema
    .createIndex('session_recordings_by_expiry')
    .on('session_recordings')
    .column('expires_at')
    .execute();
}

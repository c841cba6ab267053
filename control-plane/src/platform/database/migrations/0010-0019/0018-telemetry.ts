import { sql } from 'kysely';
import type { SchemaStep } from '../../schema-step.ts';

/** Samples of hosts and viewers, events of viewers, and their clocks. Without foreign keys, like the events. */
export const telemetryMigration: SchemaStep = {
  name: '0018-telemetry',
  async up(db) {
    await db.schema
      .alterTable('session_trace_events')
      .addColumn('source', 'text', (c) => c.notNull().defaultTo('agent'))
      .execute();

    await db.schema
      .createTable('session_samples')
      .addColumn('session_id', 'text', (c) => c.notNull())
      .addColumn('source', 'text', (c) => c.notNull())
      .addColumn('ts_unix_ms', 'bigint', (c) => c.notNull())
      .addColumn('host_id', 'text', (c) => c.notNull())
      .addColumn('metrics', 'text', (c) => c.notNull())
      .addColumn('received_at', 'bigint', (c) => c.notNull())
      // Also the order of reads.
      .addPrimaryKeyConstraint('session_samples_by_time', ['session_id', 'source', 'ts_unix_ms'])
      .execute();
    // For the bound of one session.
    await db.schema
      .createIndex('session_samples_by_session')
      .on('session_samples')
      .columns(['session_id', 'source', 'received_at'])
      .execute();
    // For the bound of one host.
    await db.schema
      .createIndex('session_samples_by_host')
      .on('session_samples')
      .columns(['host_id', 'received_at'])
      .execute();
    // For the retention sweep.
    await db.schema
      .createIndex('session_samples_by_age')
      .on('session_samples')
      .column('received_at')
      .execute();

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
  },
};

import { type Kysely, sql } from 'kysely';
import type { Schema } from '../../schema.ts';

/**
 * Owner of the sessions that measure encoders. The id is fixed, so that these sessions can also be recognized in a
 * restored backup.
 */
export const BENCH_USER_ID = '0be4c7a1-5b1e-4c3d-9a70-6f2d8e1c94b5';
const BENCH_SESSIONS = 100;

/**
 * Encoder certification: results, runs, cells, simultaneous sessions of each GPU, and the internal account that owns
 * the cells' sessions.
 */
export async function createCertification(db: Kysely<Schema>): Promise<void> {
  await db.schema
    .createTable('encoder_certifications')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('host_id', 'text', (c) => c.notNull().references('hosts.id').onDelete('cascade'))
    .addColumn('gpu_index', 'integer', (c) => c.notNull())
    .addColumn('encoder', 'text', (c) =>
      c.notNull().check(sql`encoder in ('va', 'nvenc', 'openh264', 'vulkan')`),
    )
    .addColumn('profile_id', 'text', (c) => c.notNull())
    // The row is deleted with the rung.
    .addColumn('stream_profile_id', 'text', (c) =>
      c.notNull().references('stream_profiles.id').onDelete('cascade'),
    )
    .addColumn('width', 'integer', (c) => c.notNull())
    .addColumn('height', 'integer', (c) => c.notNull())
    .addColumn('fps', 'integer', (c) => c.notNull())
    .addColumn('bitrate_kbps', 'integer', (c) => c.notNull())
    .addColumn('verdict', 'text', (c) => c.notNull().check(sql`verdict in ('ok', 'capped', 'unsafe')`))
    .addColumn('encode_ms_p50', 'double precision', (c) => c.notNull())
    .addColumn('encode_ms_p95', 'double precision', (c) => c.notNull())
    .addColumn('encode_ms_max', 'double precision', (c) => c.notNull())
    .addColumn('output_fps', 'double precision', (c) => c.notNull())
    .addColumn('drop_rate', 'double precision', (c) => c.notNull())
    .addColumn('live_write_stable', 'integer', (c) => c.notNull())
    .addColumn('sample_window_ms', 'bigint', (c) => c.notNull())
    .addColumn('sample_count', 'integer', (c) => c.notNull())
    .addColumn('agent_version', 'text', (c) => c.notNull())
    .addColumn('measured_at', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('encoder_certifications_key', [
      'host_id',
      'gpu_index',
      'encoder',
      'stream_profile_id',
      'bitrate_kbps',
    ])
    .execute();
  // Index for the deletion of a rung.
  await db.schema
    .createIndex('encoder_certifications_by_rung')
    .on('encoder_certifications')
    .column('stream_profile_id')
    .execute();

  await db.schema
    .createTable('certification_runs')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('host_id', 'text', (c) => c.notNull().references('hosts.id').onDelete('cascade'))
    .addColumn('status', 'text', (c) => c.notNull().check(sql`status in ('running', 'completed', 'failed')`))
    .addColumn('gpu_index', 'integer', (c) => c.notNull())
    .addColumn('encoder', 'text', (c) => c.notNull())
    .addColumn('total_pts', 'integer', (c) => c.notNull())
    .addColumn('completed_pts', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('summary_ok', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('summary_capped', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('summary_unsafe', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('error_message', 'text')
    .addColumn('started_at', 'bigint', (c) => c.notNull())
    .addColumn('ended_at', 'bigint')
    .execute();
  // Unique index: a host has at most one running run.
  await sql`create unique index certification_runs_running on certification_runs (host_id)
    where status = 'running'`.execute(db);
  // Index for the deletion of a host.
  await db.schema
    .createIndex('certification_runs_by_host')
    .on('certification_runs')
    .column('host_id')
    .execute();
  await db.schema
    .createIndex('certification_runs_by_age')
    .on('certification_runs')
    .columns(['status', 'started_at'])
    .execute();

  await db.schema
    .createTable('certification_cells')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('host_id', 'text', (c) => c.notNull().references('hosts.id').onDelete('cascade'))
    .addColumn('session_id', 'text', (c) => c.unique())
    .addColumn('gpu_index', 'integer', (c) => c.notNull())
    .addColumn('encoder', 'text', (c) => c.notNull())
    .addColumn('profile_id', 'text', (c) => c.notNull())
    .addColumn('stream_profile_id', 'text', (c) => c.notNull())
    .addColumn('codec', 'text', (c) => c.notNull())
    .addColumn('width', 'integer', (c) => c.notNull())
    .addColumn('height', 'integer', (c) => c.notNull())
    .addColumn('fps', 'integer', (c) => c.notNull())
    .addColumn('bitrate_kbps', 'integer', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex('certification_cells_by_host')
    .on('certification_cells')
    .column('host_id')
    .execute();

  await db.schema
    .createTable('encoder_concurrency')
    .addColumn('host_id', 'text', (c) => c.notNull().references('hosts.id').onDelete('cascade'))
    .addColumn('gpu_index', 'integer', (c) => c.notNull())
    .addColumn('encoder', 'text', (c) => c.notNull())
    // The row is deleted with the rung.
    .addColumn('stream_profile_id', 'text', (c) =>
      c.notNull().references('stream_profiles.id').onDelete('cascade'),
    )
    .addColumn('bitrate_kbps', 'integer', (c) => c.notNull())
    .addColumn('sessions', 'integer', (c) => c.notNull())
    .addColumn('curve', 'text', (c) => c.notNull())
    .addColumn('measured_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('encoder_concurrency_key', [
      'host_id',
      'gpu_index',
      'encoder',
      'stream_profile_id',
      'bitrate_kbps',
    ])
    .execute();
  // Index for the deletion of a rung.
  await db.schema
    .createIndex('encoder_concurrency_by_rung')
    .on('encoder_concurrency')
    .column('stream_profile_id')
    .execute();

  await db
    .insertInto('users')
    .values({
      id: BENCH_USER_ID,
      // This is no valid address, and the hash below is no valid hash, so no sign-in can match them even without the
      // flag.
      email: 'encoder-certification',
      username: 'Encoder certification',
      username_folded: null,
      password_hash: '',
      role: 'user',
      disabled_at: null,
      max_concurrent_sessions: BENCH_SESSIONS,
      ephemeral_expires_at: null,
      internal: 1,
      created_at: 0,
      updated_at: 0,
    })
    .execute();
}

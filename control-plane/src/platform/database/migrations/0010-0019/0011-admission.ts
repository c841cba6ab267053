import { sql } from 'kysely';
import type { SchemaStep } from '../../schema-step.ts';

/** Encoder certifications, explanations of placements, and the number of sessions of each GPU. */
export const admissionMigration: SchemaStep = {
  name: '0011-admission',
  async up(db) {
    await db.schema
      .createTable('encoder_certifications')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('host_id', 'text', (c) => c.notNull().references('hosts.id').onDelete('cascade'))
      .addColumn('gpu_index', 'integer', (c) => c.notNull())
      .addColumn('encoder', 'text', (c) =>
        c.notNull().check(sql`encoder in ('va', 'nvenc', 'openh264', 'vulkan')`),
      )
      .addColumn('profile_id', 'text', (c) => c.notNull())
      // Deleted with the rung.
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
    // For the deletion of a rung.
    await db.schema
      .createIndex('encoder_certifications_by_rung')
      .on('encoder_certifications')
      .column('stream_profile_id')
      .execute();

    await db.schema
      .createTable('session_placements')
      .addColumn('session_id', 'text', (c) => c.primaryKey().references('sessions.id').onDelete('cascade'))
      .addColumn('explanation', 'text', (c) => c.notNull())
      .execute();

    // Placement prefers the GPU with fewer sessions; counting them at every launch is expensive.
    await db.schema
      .alterTable('gpus')
      .addColumn('sessions_active', 'integer', (c) => c.notNull().defaultTo(0))
      .execute();
    await sql`update gpus set sessions_active = (
      select count(*) from sessions
      where sessions.gpu_id = gpus.id and sessions.state in ('assigned', 'starting', 'running', 'stopping')
    )`.execute(db);
  },
};

import { type Kysely, sql } from 'kysely';
import type { Schema } from '../../schema.ts';

/** Stream profiles, launch profiles with their rungs, the policy, and client failures. */
export async function createProfiles(db: Kysely<Schema>): Promise<void> {
  await db.schema
    .createTable('stream_profiles')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('display_name', 'text', (c) => c.notNull())
    .addColumn('codec', 'text', (c) => c.notNull().check(sql`codec in ('h264', 'hevc', 'av1')`))
    .addColumn('width', 'integer', (c) => c.notNull())
    .addColumn('height', 'integer', (c) => c.notNull())
    .addColumn('fps', 'integer', (c) => c.notNull())
    .addColumn('h264_profile', 'text', (c) =>
      c.notNull().check(sql`h264_profile in ('constrained-baseline', 'main', 'high')`),
    )
    .addColumn('nominal_bitrate_kbps', 'integer', (c) => c.notNull())
    .addColumn('min_offer_bandwidth_kbps', 'integer', (c) => c.notNull())
    .addColumn('recommended_offer_bandwidth_kbps', 'integer', (c) => c.notNull())
    .addColumn('headroom_factor', 'double precision', (c) => c.notNull())
    .addColumn('abr_floor_kbps', 'integer', (c) => c.notNull())
    .addColumn('max_startup_rtt_ms', 'integer', (c) => c.notNull())
    .addColumn('min_decode_height', 'integer', (c) => c.notNull())
    .addColumn('high_refresh_display', 'text', (c) =>
      c.notNull().check(sql`high_refresh_display in ('none', 'recommended', 'required')`),
    )
    .addColumn('hardware_encoder_required', 'integer', (c) => c.notNull())
    .addColumn('browser_client', 'text', (c) =>
      c.notNull().check(sql`browser_client in ('recommended', 'supported', 'risky')`),
    )
    .addColumn('playout0_ms', 'integer', (c) => c.notNull())
    .addColumn('visibility', 'text', (c) =>
      c.notNull().check(sql`visibility in ('user', 'debug', 'internal')`),
    )
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .execute();

  await db.schema
    .createTable('launch_profile_rungs')
    .addColumn('launch_profile_id', 'text', (c) =>
      c.notNull().references('launch_profiles.id').onDelete('cascade'),
    )
    .addColumn('position', 'integer', (c) => c.notNull().check(sql`position >= 1`))
    .addColumn('stream_profile_id', 'text', (c) =>
      c.notNull().references('stream_profiles.id').onDelete('restrict'),
    )
    .addPrimaryKeyConstraint('launch_profile_rungs_key', ['launch_profile_id', 'position'])
    .addUniqueConstraint('launch_profile_rungs_once', ['stream_profile_id', 'launch_profile_id'])
    .execute();

  await db.schema
    .createTable('profile_policy')
    .addColumn('id', 'integer', (c) => c.primaryKey().check(sql`id = 1`))
    .addColumn('global_default_profile_id', 'text', (c) =>
      c.references('launch_profiles.id').onDelete('restrict'),
    )
    .addColumn('user_overrides_allowed', 'integer', (c) => c.notNull())
    .addColumn('shipped_catalog_at', 'bigint')
    .execute();
  await db
    .insertInto('profile_policy')
    .values({ id: 1, global_default_profile_id: null, user_overrides_allowed: 1, shipped_catalog_at: null })
    .execute();

  await db.schema
    .createTable('profile_preferences')
    .addColumn('user_id', 'text', (c) => c.primaryKey().references('users.id').onDelete('cascade'))
    .addColumn('default_profile_id', 'text', (c) =>
      c.notNull().references('launch_profiles.id').onDelete('restrict'),
    )
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex('profile_preferences_by_profile')
    .on('profile_preferences')
    .column('default_profile_id')
    .execute();

  await db.schema
    .createTable('client_failures')
    .addColumn('device_id', 'text', (c) => c.notNull().references('devices.id').onDelete('cascade'))
    .addColumn('launch_profile_id', 'text', (c) => c.notNull())
    .addColumn('stream_profile_id', 'text', (c) => c.notNull())
    .addColumn('codec', 'text', (c) => c.notNull().check(sql`codec in ('', 'h264', 'hevc', 'av1')`))
    .addColumn('outcome', 'text', (c) => c.notNull().check(sql`outcome in ('fail')`))
    .addColumn('recorded_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('client_failures_key', [
      'device_id',
      'launch_profile_id',
      'stream_profile_id',
      'codec',
    ])
    .execute();
}

import { type Kysely, sql } from 'kysely';
import type { Schema } from '../../schema.ts';

/** People, devices, tokens, invites, preferences, the settings of the instance, and secrets at rest. */
export async function createAccounts(db: Kysely<Schema>): Promise<void> {
  await db.schema
    .createTable('users')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('email', 'text', (c) => c.notNull().unique())
    .addColumn('username', 'text', (c) => c.notNull().unique())
    .addColumn('password_hash', 'text', (c) => c.notNull())
    .addColumn('role', 'text', (c) => c.notNull().check(sql`role in ('user', 'admin')`))
    .addColumn('disabled_at', 'bigint')
    .addColumn('max_concurrent_sessions', 'integer', (c) =>
      c.notNull().defaultTo(3).check(sql`max_concurrent_sessions >= 0`),
    )
    .addColumn('ephemeral_expires_at', 'bigint')
    .addColumn('internal', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .addColumn('username_folded', 'text')
    .addColumn('password_reset_hash', 'text')
    .addColumn('password_reset_expires_at', 'bigint')
    .execute();
  await db.schema.createIndex('users_by_created').on('users').columns(['created_at', 'id']).execute();
  await db.schema.createIndex('users_by_role').on('users').column('role').execute();
  // Unique index, so that names that look equal are refused.
  await db.schema
    .createIndex('users_by_folded_name')
    .unique()
    .on('users')
    .column('username_folded')
    .execute();
  await db.schema
    .createIndex('users_by_password_reset')
    .unique()
    .on('users')
    .column('password_reset_hash')
    .execute();
  // Partial index: few accounts expire, and the reaper queries it every minute.
  await db.schema
    .createIndex('users_expiring')
    .on('users')
    .column('ephemeral_expires_at')
    .where(sql.ref('ephemeral_expires_at'), 'is not', null)
    .execute();

  await db.schema
    .createTable('devices')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('device_key', 'text', (c) => c.notNull())
    .addColumn('name', 'text')
    .addColumn('trusted', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('user_agent', 'text')
    .addColumn('capabilities', 'text', (c) => c.notNull().defaultTo('{}'))
    .addColumn('first_seen_at', 'bigint', (c) => c.notNull())
    .addColumn('last_seen_at', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('devices_key', ['user_id', 'device_key'])
    .execute();

  await db.schema
    .createTable('auth_tokens')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('token_hash', 'text', (c) => c.notNull().unique())
    .addColumn('page_hash', 'text', (c) => c.notNull().unique())
    .addColumn('device_id', 'text', (c) => c.references('devices.id').onDelete('set null'))
    .addColumn('user_agent', 'text')
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('revoked_at', 'bigint')
    .addColumn('last_used_at', 'bigint')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
  await db.schema.createIndex('auth_tokens_by_user').on('auth_tokens').column('user_id').execute();
  await db.schema.createIndex('auth_tokens_by_device').on('auth_tokens').column('device_id').execute();
  await db.schema.createIndex('auth_tokens_by_expiry').on('auth_tokens').column('expires_at').execute();

  await db.schema
    .createTable('invites')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('code_hash', 'text', (c) => c.notNull().unique())
    .addColumn('role', 'text', (c) => c.notNull().check(sql`role in ('user', 'admin')`))
    .addColumn('max_uses', 'integer', (c) => c.notNull().check(sql`max_uses >= 1`))
    .addColumn('used_count', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('expires_at', 'bigint')
    .addColumn('revoked_at', 'bigint')
    .addColumn('note', 'text')
    .addColumn('created_by_user_id', 'text', (c) => c.references('users.id').onDelete('cascade'))
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addCheckConstraint('invites_uses', sql`used_count <= max_uses`)
    .execute();

  await db.schema
    .createTable('user_preferences')
    .addColumn('user_id', 'text', (c) => c.primaryKey().references('users.id').onDelete('cascade'))
    .addColumn('ui_preferences', 'text', (c) => c.notNull().defaultTo('{}'))
    .execute();

  await db.schema
    .createTable('instance_settings')
    .addColumn('id', 'integer', (c) => c.primaryKey().check(sql`id = 1`))
    .addColumn('registration_mode', 'text', (c) => c.notNull().defaultTo('closed'))
    .addColumn('storage_provider', 'text', (c) => c.notNull().defaultTo('auto'))
    .addColumn('library_discovery_enabled', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('library_discovery_interval_minutes', 'integer', (c) => c.notNull().defaultTo(360))
    .addColumn('library_discovery_appdetails_enabled', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('mic_capture_enabled', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('image_update_policy', 'text', (c) => c.notNull().defaultTo('notify'))
    .addColumn('flight_recorder_enabled', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('allowed_origins', 'text', (c) => c.notNull().defaultTo('[]'))
    .addColumn('updated_by', 'text', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('updated_at', 'bigint', (c) => c.notNull().defaultTo(0))
    .addColumn('seeded', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('setup_completed_at', 'bigint')
    .addColumn('setup_token_digest', 'text')
    .execute();
  await db
    .insertInto('instance_settings')
    .values({
      id: 1,
      registration_mode: 'closed',
      storage_provider: 'auto',
      library_discovery_enabled: 0,
      library_discovery_interval_minutes: 360,
      library_discovery_appdetails_enabled: 0,
      mic_capture_enabled: 0,
      image_update_policy: 'notify',
      flight_recorder_enabled: 0,
      allowed_origins: '[]',
      updated_at: 0,
      seeded: 0,
    })
    .execute();

  await db.schema
    .createTable('secrets')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('ciphertext', 'text', (c) => c.notNull())
    .addColumn('nonce', 'text', (c) => c.notNull())
    .addColumn('key_version', 'integer', (c) => c.notNull().check(sql`key_version >= 1`))
    .addColumn('hint', 'text', (c) => c.notNull())
    .addColumn('updated_by', 'text', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .execute();
}

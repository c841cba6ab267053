import { type Kysely, sql } from 'kysely';
import type { Schema } from '../../schema.ts';

/** Apps, presets, launch profiles, entitlements, favourites, artwork, and the version of the catalog. */
export async function createCatalog(db: Kysely<Schema>): Promise<void> {
  await db.schema
    .createTable('runtime_presets')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('name', 'text', (c) => c.notNull().unique())
    .addColumn('description', 'text', (c) => c.notNull().defaultTo(''))
    .addColumn('image', 'text', (c) => c.notNull().defaultTo(''))
    .addColumn('args', 'text', (c) => c.notNull().defaultTo('[]'))
    .addColumn('env', 'text', (c) => c.notNull().defaultTo('{}'))
    .addColumn('mounts', 'text', (c) => c.notNull().defaultTo('[]'))
    .addColumn('managed_home', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('home_container_path', 'text', (c) => c.notNull().defaultTo('/home/service'))
    .addColumn('network', 'text', (c) =>
      c.notNull().defaultTo('').check(sql`network in ('', 'none', 'bridge')`),
    )
    .addColumn('managed_image_id', 'text', (c) => c.unique())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .execute();

  await db.schema
    .createTable('launch_profiles')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('display_name', 'text', (c) => c.notNull())
    .addColumn('description', 'text', (c) => c.notNull().defaultTo(''))
    .addColumn('visibility', 'text', (c) =>
      c.notNull().defaultTo('user').check(sql`visibility in ('user', 'debug', 'internal')`),
    )
    .addColumn('sort_order', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .execute();

  await db.schema
    .createTable('apps')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('description', 'text', (c) => c.notNull())
    .addColumn('cover_url', 'text')
    .addColumn('hero_url', 'text')
    .addColumn('kind', 'text', (c) => c.notNull().check(sql`kind in ('game', 'desktop', 'launcher')`))
    .addColumn('enabled', 'integer', (c) => c.notNull())
    .addColumn('parent_app_id', 'text', (c) => c.references('apps.id').onDelete('cascade'))
    .addColumn('external_source', 'text', (c) => c.notNull().check(sql`external_source in ('', 'steam')`))
    .addColumn('external_id', 'text', (c) => c.notNull())
    .addColumn('default_width', 'integer', (c) => c.notNull())
    .addColumn('default_height', 'integer', (c) => c.notNull())
    .addColumn('default_fps', 'integer', (c) => c.notNull())
    .addColumn('default_bitrate_kbps', 'integer', (c) => c.notNull())
    .addColumn('default_vram_mb', 'integer', (c) => c.notNull().check(sql`default_vram_mb >= 0`))
    .addColumn('default_encode_slots', 'integer', (c) => c.notNull().check(sql`default_encode_slots >= 1`))
    .addColumn('runtime_spec', 'text', (c) => c.notNull())
    .addColumn('runtime_preset_id', 'text', (c) => c.references('runtime_presets.id').onDelete('restrict'))
    .addColumn('managed_home', 'integer', (c) => c.notNull())
    .addColumn('home_container_path', 'text', (c) => c.notNull())
    .addColumn('default_profile_id', 'text', (c) => c.references('launch_profiles.id').onDelete('restrict'))
    .addColumn('profile_policy', 'text', (c) =>
      c.notNull().check(sql`profile_policy in ('inherit', 'prefer', 'force')`),
    )
    .addColumn('origin', 'text', (c) => c.notNull().check(sql`origin in ('manual', 'discovered')`))
    .addColumn('library_provider', 'text', (c) => c.notNull().check(sql`library_provider in ('', 'steam')`))
    .addColumn('library_discovery_suspended', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('entitle_first_admin', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    // A tile runs with its parent's values, so the tile must have no values of its own.
    .addCheckConstraint(
      'apps_tile_shape',
      sql`parent_app_id is null or (external_source <> '' and external_id <> '' and managed_home = 0
        and runtime_preset_id is null and runtime_spec = '{}' and library_provider = '')`,
    )
    .addCheckConstraint('apps_own_parent', sql`parent_app_id is null or parent_app_id <> id`)
    .addCheckConstraint('apps_suspended', sql`library_discovery_suspended = 0 or enabled = 0`)
    .execute();
  await db.schema.createIndex('apps_by_created').on('apps').columns(['created_at', 'id']).execute();
  await db.schema
    .createIndex('apps_tile')
    .unique()
    .on('apps')
    .columns(['parent_app_id', 'external_source', 'external_id'])
    .where(sql.ref('parent_app_id'), 'is not', null)
    .execute();
  await db.schema.createIndex('apps_by_preset').on('apps').column('runtime_preset_id').execute();
  await db.schema.createIndex('apps_by_profile').on('apps').column('default_profile_id').execute();

  await db.schema
    .createTable('app_launch_profiles')
    .addColumn('app_id', 'text', (c) => c.notNull().references('apps.id').onDelete('cascade'))
    .addColumn('launch_profile_id', 'text', (c) =>
      c.notNull().references('launch_profiles.id').onDelete('cascade'),
    )
    .addPrimaryKeyConstraint('app_launch_profiles_key', ['app_id', 'launch_profile_id'])
    .execute();
  await db.schema
    .createIndex('app_launch_profiles_by_profile')
    .on('app_launch_profiles')
    .column('launch_profile_id')
    .execute();

  await db.schema
    .createTable('entitlements')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('subject_type', 'text', (c) => c.notNull())
    .addColumn('subject_id', 'text', (c) => c.references('users.id').onDelete('cascade'))
    .addColumn('app_id', 'text', (c) => c.notNull().references('apps.id').onDelete('cascade'))
    .addColumn('granted_by', 'text', (c) =>
      c.notNull().check(sql`granted_by in ('admin', 'provider', 'migration')`),
    )
    .addColumn('granted_by_user', 'text', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('source_ref', 'text', (c) => c.notNull().defaultTo(''))
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addCheckConstraint(
      'entitlements_subject',
      sql`(subject_type = 'all' and subject_id is null) or (subject_type = 'user' and subject_id is not null)`,
    )
    .execute();
  await db.schema
    .createIndex('entitlements_all')
    .unique()
    .on('entitlements')
    .column('app_id')
    .where(sql.ref('subject_id'), 'is', null)
    .execute();
  // Index for the app list: it finds the entitlements of one user.
  await db.schema
    .createIndex('entitlements_user')
    .unique()
    .on('entitlements')
    .columns(['subject_id', 'app_id'])
    .where(sql.ref('subject_id'), 'is not', null)
    .execute();
  // Index for the deletion of a granting account.
  await db.schema
    .createIndex('entitlements_by_granter')
    .on('entitlements')
    .column('granted_by_user')
    .where(sql.ref('granted_by_user'), 'is not', null)
    .execute();
  await db.schema.createIndex('entitlements_by_app').on('entitlements').column('app_id').execute();

  await db.schema
    .createTable('favourites')
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('app_id', 'text', (c) => c.notNull().references('apps.id').onDelete('cascade'))
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('favourites_key', ['user_id', 'app_id'])
    .execute();
  await db.schema.createIndex('favourites_by_app').on('favourites').column('app_id').execute();

  await db.schema
    .createTable('catalog_version')
    .addColumn('id', 'integer', (c) => c.primaryKey().check(sql`id = 1`))
    .addColumn('version', 'bigint', (c) => c.notNull())
    .execute();
  await db.insertInto('catalog_version').values({ id: 1, version: 1 }).execute();

  // Scope of each catalog version, so that only affected cached lists are rebuilt.
  await db.schema
    .createTable('catalog_changes')
    .addColumn('version', 'bigint', (c) => c.primaryKey())
    // Without a foreign key, because a row also records the deletion of an app.
    .addColumn('app_id', 'text')
    // The list of a deleted account is never read; the gap in the versions makes other caches rebuild once.
    .addColumn('user_id', 'text', (c) => c.references('users.id').onDelete('cascade'))
    .execute();
  await db.schema
    .createIndex('catalog_changes_by_user')
    .on('catalog_changes')
    .column('user_id')
    .where(sql.ref('user_id'), 'is not', null)
    .execute();

  await db.schema
    .createTable('artwork_records')
    .addColumn('app_id', 'text', (c) => c.primaryKey().references('apps.id').onDelete('cascade'))
    .addColumn('source', 'text', (c) => c.notNull().check(sql`source in ('provider', 'manual', 'none')`))
    .addColumn('provider', 'text', (c) => c.notNull())
    .addColumn('provider_ref', 'text', (c) => c.notNull())
    .addColumn('matched_name', 'text', (c) => c.notNull())
    .addColumn('tile_url', 'text')
    .addColumn('hero_url', 'text')
    .addColumn('attribution', 'text', (c) => c.notNull())
    .addColumn('locked', 'integer', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .execute();
  // Indexes for the removal of a blob: they find the records that refer to it.
  await db.schema.createIndex('artwork_records_by_tile').on('artwork_records').column('tile_url').execute();
  await db.schema.createIndex('artwork_records_by_hero').on('artwork_records').column('hero_url').execute();
}

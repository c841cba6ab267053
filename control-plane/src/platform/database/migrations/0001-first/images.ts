import { type Kysely, sql } from 'kysely';
import type { Schema } from '../../schema.ts';

/** The image catalog, installed images, and their state on hosts. */
export async function createImages(db: Kysely<Schema>): Promise<void> {
  await db.schema
    .createTable('image_catalog')
    .addColumn('id', 'integer', (c) => c.primaryKey().check(sql`id = 1`))
    .addColumn('catalog_ref', 'text', (c) => c.notNull())
    .addColumn('manifest_version', 'integer')
    .addColumn('fetched_at', 'bigint')
    .addColumn('sha256', 'text')
    .addColumn('commit_sha', 'text')
    .addColumn('manifest_ref', 'text')
    .addColumn('url', 'text')
    .addColumn('previous_sha256', 'text')
    .addColumn('changed', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('changed_at', 'bigint')
    .addColumn('sync_error', 'text')
    .execute();
  await db.insertInto('image_catalog').values({ id: 1, catalog_ref: 'stable', changed: 0 }).execute();

  await db.schema
    .createTable('catalog_images')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('display_name', 'text', (c) => c.notNull())
    .addColumn('description', 'text', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull().check(sql`kind in ('prebuilt', 'template')`))
    .addColumn('version', 'text', (c) => c.notNull())
    .addColumn('registry_ref', 'text')
    .addColumn('registry_digest', 'text')
    .addColumn('build', 'text')
    .addColumn('artwork', 'text', (c) => c.notNull())
    .addColumn('runtime', 'text')
    .addColumn('library_provider', 'text')
    .execute();

  // No foreign key to the catalog, because an installed image stays when its catalog entry is removed.
  await db.schema
    .createTable('installed_images')
    .addColumn('image_id', 'text', (c) => c.primaryKey())
    .addColumn('version', 'text', (c) => c.notNull())
    .addColumn('registry_ref', 'text')
    .addColumn('local_tag', 'text')
    .addColumn('build', 'text')
    .addColumn('lazy', 'integer', (c) => c.notNull())
    .addColumn('pinned', 'integer', (c) => c.notNull())
    .addColumn('runtime_preset_id', 'text', (c) => c.references('runtime_presets.id').onDelete('set null'))
    .addColumn('installed_at', 'bigint', (c) => c.notNull())
    .addCheckConstraint('installed_images_name', sql`(registry_ref is null) <> (local_tag is null)`)
    .execute();
  await db.schema
    .createIndex('installed_images_by_preset')
    .on('installed_images')
    .column('runtime_preset_id')
    .execute();

  await db.schema
    .createTable('host_images')
    .addColumn('host_id', 'text', (c) => c.notNull().references('hosts.id').onDelete('cascade'))
    .addColumn('image_id', 'text', (c) =>
      c.notNull().references('installed_images.image_id').onDelete('cascade'),
    )
    .addColumn('version', 'text')
    .addColumn('state', 'text', (c) =>
      c.notNull().check(sql`state in ('absent', 'pulling', 'building', 'ready', 'failed')`),
    )
    .addColumn('progress_pct', 'integer')
    .addColumn('error', 'text')
    .addColumn('bytes', 'bigint')
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('host_images_key', ['host_id', 'image_id'])
    .execute();
  await db.schema.createIndex('host_images_by_image').on('host_images').column('image_id').execute();
}

import { sql } from 'kysely';
import type { SchemaStep } from '../../schema-step.ts';

/** Artwork records: one for each app with looked-up or chosen pictures. */
export const artworkMigration: SchemaStep = {
  name: '0008-artwork',
  async up(db) {
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
    // For the removal of a blob: records that refer to it.
    await db.schema.createIndex('artwork_records_by_tile').on('artwork_records').column('tile_url').execute();
    await db.schema.createIndex('artwork_records_by_hero').on('artwork_records').column('hero_url').execute();
  },
};

import { sql } from 'kysely';
import type { SchemaStep } from '../schema-step.ts';

/** What each version of the catalog changed, so that lists that are kept are made again only where it concerns them. */
export const catalogChangesMigration: SchemaStep = {
  name: '0010-catalog-changes',
  async up(db) {
    await db.schema
      .createTable('catalog_changes')
      .addColumn('version', 'bigint', (c) => c.primaryKey())
      // No reference: that an app is gone has to be told.
      .addColumn('app_id', 'text')
      // Nobody asks for the list of an account that is gone; the gap it leaves makes others read everything once.
      .addColumn('user_id', 'text', (c) => c.references('users.id').onDelete('cascade'))
      .execute();
    await db.schema
      .createIndex('catalog_changes_by_user')
      .on('catalog_changes')
      .column('user_id')
      .where(sql.ref('user_id'), 'is not', null)
      .execute();
  },
};

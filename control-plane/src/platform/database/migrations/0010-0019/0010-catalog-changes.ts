import { sql } from 'kysely';
import type { SchemaStep } from '../../schema-step.ts';

/** Scope of each catalog version, so that only affected cached lists are rebuilt. */
export const catalogChangesMigration: SchemaStep = {
  name: '0010-catalog-changes',
  async up(db) {
    await db.schema
      .createTable('catalog_changes')
      .addColumn('version', 'bigint', (c) => c.primaryKey())
      // Without a foreign key, because the deletion of an app must be noted.
      .addColumn('app_id', 'text')
      // The list of a deleted account is never read; the gap in the versions makes others rebuild once.
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

import { type Kysely, sql } from 'kysely';
import type { Dialect } from '../../database.ts';
import type { Schema } from '../../schema.ts';
import type { SchemaStep } from '../../schema-step.ts';

/** Secrets at rest, and indexes for the filters of the activity log. */
export const secretsMigration: SchemaStep = {
  name: '0007-secrets',
  async up(db, dialect) {
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
    await indexActivity(db, dialect);
  },
};

async function indexActivity(db: Kysely<Schema>, dialect: Dialect): Promise<void> {
  await db.schema
    .createIndex('activity_by_target_type')
    .on('activity')
    .columns(['target_type', 'id'])
    .execute();
  await db.schema.createIndex('activity_by_time').on('activity').column('created_at').execute();
  // A prefix is a range of bytes. SQLite compares text by bytes anyway, so its existing index works.
  if (dialect === 'postgres') {
    await sql`create index activity_by_action_bytes on activity (action collate "C", id)`.execute(db);
  }
}

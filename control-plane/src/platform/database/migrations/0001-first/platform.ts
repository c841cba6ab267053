import { type Kysely, sql } from 'kysely';
import type { Dialect } from '../../database.ts';
import type { Schema } from '../../schema.ts';

/** Leases of leader tasks, and the activity log. */
export async function createPlatform(db: Kysely<Schema>, dialect: Dialect): Promise<void> {
  await db.schema
    .createTable('leases')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('holder', 'text', (c) => c.notNull())
    .addColumn('fence', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute();

  const activity = db.schema.createTable('activity');
  // Numbers are never reused, otherwise a page's cursor could skip a row.
  const numbered =
    dialect === 'sqlite'
      ? activity.addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
      : activity.addColumn('id', 'bigserial', (c) => c.primaryKey());
  await numbered
    .addColumn('actor_user_id', 'text')
    .addColumn('action', 'text', (c) => c.notNull())
    .addColumn('target_type', 'text', (c) => c.notNull())
    .addColumn('target_id', 'text')
    .addColumn('details', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
  await db.schema.createIndex('activity_by_action').on('activity').columns(['action', 'id']).execute();
  await db.schema.createIndex('activity_by_actor').on('activity').columns(['actor_user_id', 'id']).execute();
  await db.schema
    .createIndex('activity_by_target_type')
    .on('activity')
    .columns(['target_type', 'id'])
    .execute();
  await db.schema.createIndex('activity_by_time').on('activity').column('created_at').execute();
  // Index for the entries about one session, app, host or account, because the log is never deleted and each launch
  // adds to it.
  await db.schema
    .createIndex('activity_by_target')
    .on('activity')
    .columns(['target_id', 'target_type', 'id'])
    .execute();
  // Index for prefix searches by bytes. SQLite needs none, because it compares text by bytes and its index by action
  // works.
  if (dialect === 'postgres') {
    await sql`create index activity_by_action_bytes on activity (action collate "C", id)`.execute(db);
  }
}

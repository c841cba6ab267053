import { type Kysely, sql } from 'kysely';
import type { Schema } from '../../schema.ts';

const COUNTERS = [
  'observed',
  'suppressed',
  'created',
  'disabled',
  'granted',
  'revoked',
  'rejected',
  'backfilled',
] as const;

/** Library discovery. Every row is deleted with its user, app or host. */
export async function createLibrary(db: Kysely<Schema>): Promise<void> {
  let scans = db.schema
    .createTable('library_scans')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('app_id', 'text', (c) => c.notNull().references('apps.id').onDelete('cascade'))
    .addColumn('host_id', 'text', (c) => c.notNull().references('hosts.id').onDelete('cascade'))
    .addColumn('state', 'text', (c) =>
      c.notNull().check(sql`state in ('pending', 'claimed', 'reported', 'failed')`),
    )
    .addColumn('claimed_at', 'bigint')
    .addColumn('claimed_boot', 'text')
    .addColumn('reported_at', 'bigint')
    .addColumn('complete', 'integer')
    .addColumn('error', 'text', (c) => c.notNull().defaultTo(''))
    .addColumn('created_at', 'bigint', (c) => c.notNull());
  for (const counter of COUNTERS) {
    scans = scans.addColumn(counter, 'integer', (c) => c.notNull().defaultTo(0));
  }
  await scans.execute();
  await sql`create unique index library_scans_open on library_scans (user_id, app_id, host_id)
    where state in ('pending', 'claimed')`.execute(db);
  // Index for the last scan of a home, and for the deletion of a user.
  await db.schema
    .createIndex('library_scans_by_home')
    .on('library_scans')
    .columns(['user_id', 'app_id', 'host_id', 'created_at'])
    .execute();
  // Index for the deletion of an app.
  await db.schema.createIndex('library_scans_by_app').on('library_scans').column('app_id').execute();
  // Index for a host's poll, and for the deletion of a host.
  await db.schema
    .createIndex('library_scans_by_host')
    .on('library_scans')
    .columns(['host_id', 'state', 'created_at', 'id'])
    .execute();
  // Index for the list of ended scans, and for their retention.
  await db.schema
    .createIndex('library_scans_by_end')
    .on('library_scans')
    .columns(['reported_at', 'id'])
    .execute();

  await db.schema
    .createTable('library_observations')
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('parent_app_id', 'text', (c) => c.notNull().references('apps.id').onDelete('cascade'))
    .addColumn('external_source', 'text', (c) => c.notNull())
    .addColumn('external_id', 'text', (c) => c.notNull())
    .addColumn('host_id', 'text', (c) => c.notNull().references('hosts.id').onDelete('cascade'))
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('last_seen_at', 'bigint', (c) => c.notNull())
    .addColumn('suppressed_by', 'text', (c) => c.notNull().defaultTo(''))
    .addPrimaryKeyConstraint('library_observations_key', [
      'user_id',
      'parent_app_id',
      'external_source',
      'external_id',
      'host_id',
    ])
    .execute();
  // Index for the list of unpublished titles, and for the deletion of an app.
  await db.schema
    .createIndex('library_observations_by_title')
    .on('library_observations')
    .columns(['parent_app_id', 'external_source', 'external_id'])
    .execute();
  // Index for the deletion of a host.
  await db.schema
    .createIndex('library_observations_by_host')
    .on('library_observations')
    .column('host_id')
    .execute();

  await db.schema
    .createTable('library_appid_rules')
    .addColumn('parent_app_id', 'text', (c) => c.notNull().references('apps.id').onDelete('cascade'))
    .addColumn('external_source', 'text', (c) => c.notNull())
    .addColumn('external_id', 'text', (c) => c.notNull())
    .addColumn('rule', 'text', (c) => c.notNull().check(sql`rule in ('ignore', 'allow')`))
    .addColumn('note', 'text', (c) => c.notNull().defaultTo(''))
    .addColumn('created_by', 'text', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('library_appid_rules_key', ['parent_app_id', 'external_source', 'external_id'])
    .execute();
  // Index for the deletion of an account.
  await db.schema
    .createIndex('library_appid_rules_by_author')
    .on('library_appid_rules')
    .column('created_by')
    .execute();
}

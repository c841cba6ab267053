import { sql } from 'kysely';
import type { SchemaStep } from '../../schema-step.ts';

/** Indexes for queries that grow with the instance: references to a deleted row, and due rows. */
export const indexesMigration: SchemaStep = {
  name: '0009-indexes',
  async up(db) {
    // Live sessions of each account, which the list of accounts counts.
    await db.schema
      .createIndex('sessions_active_user')
      .on('sessions')
      .column('user_id')
      .where(sql.ref('state'), 'in', ['pending', 'assigned', 'starting', 'running', 'stopping'])
      .execute();
    // For the deletion of a granting account. Most rows have one; rows of the seed file have none.
    await db.schema
      .createIndex('entitlements_by_granter')
      .on('entitlements')
      .column('granted_by_user')
      .where(sql.ref('granted_by_user'), 'is not', null)
      .execute();
    await db.schema.createIndex('storage_homes_by_app').on('storage_homes').column('app_id').execute();
    // Partial: few accounts expire, and the reaper asks every minute.
    await db.schema
      .createIndex('users_expiring')
      .on('users')
      .column('ephemeral_expires_at')
      .where(sql.ref('ephemeral_expires_at'), 'is not', null)
      .execute();
  },
};

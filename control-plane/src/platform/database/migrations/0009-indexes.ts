import { sql } from 'kysely';
import type { SchemaStep } from '../schema-step.ts';

/** Indexes of the questions that grow with the instance: what a deleted row is referred by, and what is due. */
export const indexesMigration: SchemaStep = {
  name: '0009-indexes',
  async up(db) {
    // What each account has running: the list of accounts counts it for every row it shows.
    await db.schema
      .createIndex('sessions_active_user')
      .on('sessions')
      .column('user_id')
      .where(sql.ref('state'), 'in', ['pending', 'assigned', 'starting', 'running', 'stopping'])
      .execute();
    // Who granted it is asked only when that account goes; most rows have somebody, those of the seed file have not.
    await db.schema
      .createIndex('entitlements_by_granter')
      .on('entitlements')
      .column('granted_by_user')
      .where(sql.ref('granted_by_user'), 'is not', null)
      .execute();
    await db.schema.createIndex('storage_homes_by_app').on('storage_homes').column('app_id').execute();
    // Nearly no account expires, and every minute it is asked which have.
    await db.schema
      .createIndex('users_expiring')
      .on('users')
      .column('ephemeral_expires_at')
      .where(sql.ref('ephemeral_expires_at'), 'is not', null)
      .execute();
  },
};

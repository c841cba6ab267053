import { sql } from 'kysely';
import type { SchemaStep } from '../schema-step.ts';

/** Indexes of the questions that lists ask. */
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
    // Nearly no account expires, and every minute it is asked which have.
    await db.schema
      .createIndex('users_expiring')
      .on('users')
      .column('ephemeral_expires_at')
      .where(sql.ref('ephemeral_expires_at'), 'is not', null)
      .execute();
  },
};

import type { SchemaStep } from '../schema-step.ts';

/** One link per account with which its owner sets a new password. */
export const passwordResetsMigration: SchemaStep = {
  name: '0028-password-resets',
  async up(db) {
    await db.schema.alterTable('users').addColumn('password_reset_hash', 'text').execute();
    await db.schema.alterTable('users').addColumn('password_reset_expires_at', 'bigint').execute();
    await db.schema
      .createIndex('users_by_password_reset')
      .unique()
      .on('users')
      .column('password_reset_hash')
      .execute();
  },
};

import type { SchemaStep } from '../schema-step.ts';

/** Sign-in with an OpenID Connect provider: the persons that are linked to accounts, and sign-ins in progress. */
export const oidc: SchemaStep = {
  name: '0004-oidc',
  async up(db) {
    await db.schema
      .createTable('oidc_identities')
      .addColumn('issuer', 'text', (c) => c.notNull())
      .addColumn('subject', 'text', (c) => c.notNull())
      .addColumn('user_id', 'text', (c) => c.notNull().references('users.id').onDelete('cascade'))
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addPrimaryKeyConstraint('oidc_identities_key', ['issuer', 'subject'])
      // An account belongs to one person of a provider.
      .addUniqueConstraint('oidc_identities_account', ['user_id', 'issuer'])
      .execute();
    await db.schema
      .createTable('oidc_logins')
      .addColumn('login_hash', 'text', (c) => c.primaryKey())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .execute();
    await db.schema.createIndex('oidc_logins_by_expiry').on('oidc_logins').column('expires_at').execute();
  },
};

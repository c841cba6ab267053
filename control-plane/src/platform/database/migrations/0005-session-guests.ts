import { sql } from 'kysely';
import type { SchemaStep } from '../schema-step.ts';

/** Guests of sessions: their links, their signaling tokens, and the setting with which administrators allow them. */
export const sessionGuests: SchemaStep = {
  name: '0005-session-guests',
  async up(db) {
    await db.schema
      .createTable('session_guests')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('session_id', 'text', (c) => c.notNull().references('sessions.id').onDelete('cascade'))
      .addColumn('slot', 'integer', (c) => c.notNull())
      .addColumn('role', 'text', (c) => c.notNull())
      .addColumn('pad_index', 'integer')
      .addColumn('secret_hash', 'text', (c) => c.notNull().unique())
      .addColumn('name', 'text')
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .addColumn('ended_at', 'bigint')
      .addColumn('end_acked_at', 'bigint')
      .execute();
    await db.schema.createIndex('session_guests_session').on('session_guests').column('session_id').execute();
    await db.schema
      .createIndex('session_guests_not_acked')
      .on('session_guests')
      .column('ended_at')
      .where(sql.ref('end_acked_at'), 'is', null)
      .where(sql.ref('ended_at'), 'is not', null)
      .execute();
    await db.schema
      .createIndex('session_guests_slot')
      .unique()
      .on('session_guests')
      .columns(['session_id', 'slot'])
      .where(sql.ref('ended_at'), 'is', null)
      .execute();
    await db.schema
      .createTable('guest_tokens')
      .addColumn('token_hash', 'text', (c) => c.primaryKey())
      .addColumn('guest_id', 'text', (c) => c.notNull().references('session_guests.id').onDelete('cascade'))
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .execute();
    await db.schema.createIndex('guest_tokens_guest').on('guest_tokens').column('guest_id').execute();
    await db.schema.createIndex('guest_tokens_expiry').on('guest_tokens').column('expires_at').execute();
    await db.schema
      .alterTable('instance_settings')
      .addColumn('guest_sharing_enabled', 'integer', (c) => c.notNull().defaultTo(1))
      .execute();
  },
};

import { foldUsername } from '../../query/username-fold.ts';
import type { SchemaStep } from '../../schema-step.ts';

/**
 * Makes folded usernames unique. Accounts that already share one keep their names: the first is twin 0 like every new
 * account, so a new one is refused.
 */
export const usernamesMigration: SchemaStep = {
  name: '0017-usernames',
  async up(db) {
    await db.schema.alterTable('users').addColumn('username_folded', 'text').execute();
    await db.schema
      .alterTable('users')
      .addColumn('username_twin', 'integer', (c) => c.notNull().defaultTo(0))
      .execute();
    const twins = new Map<string, number>();
    const users = await db
      .selectFrom('users')
      .select(['id', 'username'])
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    for (const { id, username } of users) {
      const username_folded = foldUsername(username);
      const username_twin = twins.get(username_folded) ?? 0;
      twins.set(username_folded, username_twin + 1);
      await db.updateTable('users').set({ username_folded, username_twin }).where('id', '=', id).execute();
    }
    await db.schema
      .createIndex('users_by_folded_name')
      .on('users')
      .columns(['username_folded', 'username_twin'])
      .unique()
      .execute();
  },
};

import { createLogger } from '@footlight/platform';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { createTestApp, describeDatabases, FREE_SIGN_IN, PASSWORD } from '../../../../testing/index.ts';
import { openDatabase } from '../../engine/open.ts';

const logger = createLogger('silent');

/** Accounts as earlier releases let them be made, the oldest first. */
const OLDER = ['alice', 'Alice', '\uff21LICE', 'bob', 'Stra\u00dfe'];

describeDatabases('the step to names that do not look equal', ({ empty }) => {
  test('keeps the names of all accounts, and refuses new ones that look equal to any of them', async () => {
    const target = await empty();
    const before = await openDatabase(target, { logger, lastStep: '0016-session-trace' });
    for (const [n, username] of OLDER.entries()) {
      await sql`insert into users (id, email, username, password_hash, role, created_at, updated_at)
        values (${`u${n}`}, ${`u${n}@example.test`}, ${username}, '-', 'user', ${n}, ${n})`.execute(
        before.db,
      );
    }
    await before.close();

    const app = await createTestApp(target, {
      env: { REGISTRATION_MODE: 'open' },
      seedPeople: false,
      overrides: { accountLimits: FREE_SIGN_IN },
    });
    try {
      const { db } = app.plane.platform.database;
      const names = async () =>
        (
          await db.selectFrom('users').select('username').where('id', 'like', 'u_').orderBy('id').execute()
        ).map(({ username }) => username);
      expect(await names()).toEqual(OLDER);
      const register = async (username: string) => {
        const body = { email: `${crypto.randomUUID()}@example.test`, username, password: PASSWORD };
        return (await app.call(null, 'POST', '/v1/auth/register', { body })).status;
      };
      for (const username of ['alice', 'aLice', 'BOB', 'strasse']) expect(await register(username)).toBe(409);
      // The name is free once the last account that has it is gone, not the first.
      await db.deleteFrom('users').where('id', '=', 'u0').execute();
      expect(await register('ALICe')).toBe(409);
      await db.deleteFrom('users').where('id', 'in', ['u1', 'u2']).execute();
      expect(await register('ALICe')).toBe(201);
      expect(await register('AlIcE')).toBe(409);
    } finally {
      await app.close();
    }
  });
});

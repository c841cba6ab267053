import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createLogger, DAY_MS } from '@footlight/platform';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../platform/database/index.ts';
import { createTestApp, describeDatabases, type Person, type TestApp } from '../../testing/index.ts';
import { liveTokenFinder } from '../store.ts';

describeDatabases('a token that was accepted before', ({ dialect, fresh }) => {
  let app: TestApp;
  /** A second set of connections that acts as another process. */
  let elsewhere: Database;
  let alice: Person;

  beforeAll(async () => {
    const target = await fresh();
    app = await createTestApp(target);
    elsewhere = await openDatabase(target, { logger: createLogger('silent') });
  });
  afterAll(async () => {
    await elsewhere.close();
    await app.close();
  });

  let people = 0;
  beforeEach(async () => {
    people += 1;
    alice = await app.addPerson(`alice${people}`);
    // The second request runs after the write for the first use, and writes nothing.
    expect([await status(), await status()]).toEqual([200, 200]);
  });
  const status = async () => (await app.call(alice, 'GET', '/v1/apps')).status;
  const here = () => app.plane.platform.database;
  const revoke = ({ db }: Pick<Database, 'db'>) =>
    db.updateTable('auth_tokens').set({ revoked_at: 1 }).where('user_id', '=', alice.id).execute();

  test.each<[string, (database: Database) => Promise<unknown>]>([
    ['it is revoked', revoke],
    [
      'its owner is disabled',
      ({ db }) => db.updateTable('users').set({ disabled_at: 1 }).where('id', '=', alice.id).execute(),
    ],
    ['its owner is deleted', ({ db }) => db.deleteFrom('users').where('id', '=', alice.id).execute()],
  ])('is refused with the very next request when %s, here or by another process', async (_, end) => {
    const bob = alice;
    await end(here());
    expect(await status()).toBe(401);
    alice = await app.addPerson(`${bob.username}-too`);
    expect([await status(), await status()]).toEqual([200, 200]);
    await end(elsewhere);
    expect(await status()).toBe(401);
  });

  test('has the present rights of its owner', async () => {
    const admin = async () => (await app.call(alice, 'GET', '/v1/admin/apps')).status;
    expect(await admin()).toBe(403);
    await elsewhere.db.updateTable('users').set({ role: 'admin' }).where('id', '=', alice.id).execute();
    expect(await admin()).toBe(200);
    await elsewhere.db.updateTable('users').set({ role: 'user' }).where('id', '=', alice.id).execute();
    expect(await admin()).toBe(403);
  });

  test('is refused once it has expired, though nothing was written', async () => {
    let nowMs = app.clock.nowMs();
    const find = liveTokenFinder(here(), () => nowMs);
    const hash = createHash('sha256').update(alice.token).digest('hex');
    const { expires_at } = await here()
      .db.selectFrom('auth_tokens')
      .select('expires_at')
      .where('user_id', '=', alice.id)
      .executeTakeFirstOrThrow();
    expect(await find(hash)).toMatchObject({ user_id: alice.id });
    nowMs = expires_at - 1;
    expect(await find(hash)).toMatchObject({ user_id: alice.id });
    nowMs = expires_at;
    expect(await find(hash)).toBeUndefined();
    nowMs -= DAY_MS;
    expect(await find(hash)).toMatchObject({ user_id: alice.id });
  });

  if (dialect === 'sqlite') {
    test('waits for a transaction that may end it', async () => {
      const find = liveTokenFinder(here(), () => app.clock.nowMs());
      const hash = createHash('sha256').update(alice.token).digest('hex');
      expect(await find(hash)).toBeDefined();
      const steps = new EventEmitter();
      const revoked = once(steps, 'revoked');
      const change = here().transaction(async (tx) => {
        await revoke({ db: tx });
        steps.emit('revoked');
        await once(steps, 'asked');
      });
      await revoked;
      const asked = find(hash);
      steps.emit('asked');
      await change;
      expect(await asked).toBeUndefined();
    });
  }

  test('gets its last_used_at, together with other tokens of the same turn', async () => {
    const crowd = await Promise.all(
      Array.from({ length: 5 }, (_, n) => app.addPerson(`${alice.username}-${n}`)),
    );
    await Promise.all(crowd.map((person) => app.call(person, 'GET', '/v1/me')));
    const uses = () =>
      elsewhere.db
        .selectFrom('auth_tokens')
        .select('last_used_at')
        .where(
          'user_id',
          'in',
          crowd.map(({ id }) => id),
        )
        .execute();
    await expect
      .poll(async () => (await uses()).map(({ last_used_at }) => last_used_at))
      .toEqual(crowd.map(() => app.clock.nowMs()));
  });
});

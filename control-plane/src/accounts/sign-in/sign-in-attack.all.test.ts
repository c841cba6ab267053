import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { describe, expect, test } from 'vitest';
import { describeSqlite, PASSWORD, ROOMY_QUEUE } from '../../testing/index.ts';
import { type AccountsWorld, worldsOn } from '../testing/world.ts';

const OPEN = { REGISTRATION_MODE: 'open' };
const WRONG = `${PASSWORD}?`;

/** The n-th address of the attacker's network. */
const addressOf = (n: number): string => `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;

describeSqlite('signing in stays possible under attack', ({ fresh }) => {
  const withWorld = worldsOn(fresh);

  const login = async (world: AccountsWorld, from: string, body: object): Promise<number> =>
    (await world.call('POST', '/v1/auth/login', { body, from })).statusCode;
  const alice = { email: 'alice@example.org', password: PASSWORD };

  /** Sends concurrent logins from each address. Every login has a different account name. */
  const storm = (world: AccountsWorld, addresses: number, each: number): Promise<number[]> =>
    Promise.all(
      Array.from({ length: addresses * each }, (_, n) =>
        login(world, addressOf(n % addresses), { email: `x${n}@example.org`, password: WRONG }),
      ),
    );

  /** Registers alice and signs her in on a device. */
  async function seeAlice(world: AccountsWorld): Promise<void> {
    await world.register('alice');
    expect(await login(world, '192.0.2.1', { ...alice, device_key: 'her-laptop' })).toBe(200);
  }

  describe('the queue of hashes', () => {
    test('has a place for a right password while 7 addresses send 70 logins', () =>
      withWorld({ env: OPEN }, async (world) => {
        await world.register('alice');
        const attack = storm(world, 7, 10);
        const [hers, ...theirs] = await Promise.all([login(world, '192.0.2.7', alice), attack]);
        expect(hers).toBe(200);
        // Per address two requests wait, and one hash per core runs; all others are refused.
        expect(theirs.flat().filter((status) => status === 429).length).toBeGreaterThan(20);
      }));

    test('has places for known devices that 40 addresses cannot fill', () =>
      withWorld({ env: OPEN }, async (world) => {
        await seeAlice(world);
        for (let wave = 0; wave < 2; wave += 1) {
          // Twice as many requests as the queue accepts per address. With more, the test would measure how long a
          // database may be busy (5 s, then 503).
          const attack = storm(world, 40, 4);
          const known = { ...alice, device_key: 'her-laptop' };
          expect(await login(world, '192.0.2.2', known)).toBe(200);
          // The attackers filled the places that are not reserved.
          expect((await attack).filter((status) => status === 429).length).toBeGreaterThan(100);
          await world.clock.pass(MINUTE_MS);
        }
      }));
  });

  describe('guesses of one password', () => {
    test.each(['alice@example.org', 'nobody@example.org'])(
      'from 1,000 addresses come to 20 and then one a minute: %s',
      (email) =>
        withWorld({ env: OPEN }, async (world) => {
          await seeAlice(world);
          const guesses = async (from: number, count: number): Promise<number> => {
            let judged = 0;
            for (let n = from; n < from + count; n += 1) {
              if ((await login(world, addressOf(n), { email, password: WRONG })) === 401) judged += 1;
            }
            return judged;
          };
          expect(await guesses(0, 1_000)).toBe(20);
          await world.clock.pass(59 * SECOND_MS);
          expect(await guesses(1_000, 50)).toBe(0);
          await world.clock.pass(SECOND_MS);
          expect(await guesses(2_000, 50)).toBe(1);
          await world.clock.pass(10 * MINUTE_MS);
          expect(await guesses(3_000, 50)).toBe(10);
        }),
    );

    test('sent all at once are no more', () =>
      withWorld(
        {
          env: OPEN,
          limits: { hashQueue: ROOMY_QUEUE },
        },
        async (world) => {
          await world.register('alice');
          const guesses = Array.from({ length: 200 }, (_, n) =>
            login(world, addressOf(n), { ...alice, password: WRONG }),
          );
          const judged = (await Promise.all(guesses)).filter((status) => status === 401);
          expect(judged).toHaveLength(20);
        },
      ));

    /** Uses up all guesses for the name alice. */
    async function exhaust(world: AccountsWorld): Promise<void> {
      for (let n = 0; n < 20; n += 1) await login(world, addressOf(n), { ...alice, password: WRONG });
    }

    test('lock no account out of a device that is signed in, or was until the token expired', () =>
      withWorld({ env: OPEN }, async (world) => {
        await seeAlice(world);
        await exhaust(world);
        const stranger = await world.call('POST', '/v1/auth/login', { body: alice, from: '192.0.2.9' });
        expect([stranger.statusCode, stranger.headers['retry-after']]).toEqual([429, '60']);
        const known = { ...alice, device_key: 'her-laptop' };
        expect(await login(world, '192.0.2.9', known)).toBe(200);
        world.clock.jump(25 * 60 * MINUTE_MS);
        await exhaust(world);
        expect(await login(world, '192.0.2.9', alice)).toBe(429);
        expect(await login(world, '192.0.2.9', known)).toBe(200);
      }));

    test.each([
      [
        'was signed out',
        (world: AccountsWorld) => world.db.updateTable('auth_tokens').set({ revoked_at: 1 }),
      ],
      ['was removed', (world: AccountsWorld) => world.db.deleteFrom('devices')],
    ])('cannot be bypassed by a device that %s', (_, end) =>
      withWorld({ env: OPEN }, async (world) => {
        await seeAlice(world);
        await end(world).execute();
        await exhaust(world);
        expect(await login(world, '192.0.2.9', { ...alice, device_key: 'her-laptop' })).toBe(429);
      }),
    );

    test('cannot be bypassed by a device of another account', () =>
      withWorld({ env: OPEN }, async (world) => {
        await seeAlice(world);
        await world.register('mallory');
        await world.login('mallory@example.org', { device_key: 'a-laptop-of-mallory' });
        await exhaust(world);
        expect(await login(world, '192.0.2.9', { ...alice, device_key: 'a-laptop-of-mallory' })).toBe(429);
      }));

    test('do not include sign-ins: right passwords use up nothing, however many', () =>
      withWorld({ env: OPEN }, async (world) => {
        await world.register('alice');
        for (let n = 0; n < 25; n += 1) expect(await login(world, addressOf(n), alice)).toBe(200);
      }));
  });

  test('a refused address stays refused during attempts from 4,200 others', () =>
    withWorld({ env: OPEN }, async (world) => {
      const ask = async (from: string) =>
        (await world.call('POST', '/v1/auth/login', { raw: '{', from })).statusCode;
      for (let n = 0; n < 10; n += 1) await ask('192.0.2.66');
      expect(await ask('192.0.2.66')).toBe(429);
      for (let n = 0; n < 4_200; n += 1) await ask(addressOf(n));
      expect(await ask('192.0.2.66')).toBe(429);
    }));
});

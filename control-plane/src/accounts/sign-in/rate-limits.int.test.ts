import { request } from 'node:http';
import { connect } from 'node:net';
import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type Answer,
  createTestApp,
  describeSqlite,
  type Person,
  type TestApp,
} from '../../testing/index.ts';

/** The test app raises the limits; this suite uses the production limits. */
const AS_SHIPPED = { overrides: { accountLimits: {} } };

describeSqlite('posting measurements and changing passwords are limited per user', ({ fresh }) => {
  let app: TestApp;
  let alice: Person;
  let number = 0;
  beforeAll(async () => {
    app = await createTestApp(await fresh(), AS_SHIPPED);
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    number += 1;
    alice = await app.addPerson(`alice${number}`);
  });

  const ROUTES = ['/v1/me/devices', '/v1/me/password'] as const;
  const post = (as: Person | null, url: string, body = '{', headers = {}) =>
    app.call(as, 'POST', url, { body, headers });
  const refusal = (answer: Answer) => [answer.status, answer.body.error.code, answer.headers['retry-after']];
  const limited = (retryAfter: string) => [429, 'rate_limited', retryAfter];
  const malformed = [400, 'validation_failed', undefined];

  test.each(ROUTES)('POST %s: five at once, failed ones too, then one per 10 s', async (url) => {
    for (let i = 0; i < 5; i += 1) expect(refusal(await post(alice, url))).toEqual(malformed);
    expect(refusal(await post(alice, url))).toEqual(limited('10'));
    await app.clock.pass(4 * SECOND_MS);
    expect(refusal(await post(alice, url))).toEqual(limited('6'));
    await app.clock.pass(6 * SECOND_MS);
    expect(refusal(await post(alice, url))).toEqual(malformed);
    expect(refusal(await post(alice, url))).toEqual(limited('10'));
  });

  test.each(ROUTES)('POST %s: neither another route nor another user is slowed', async (url) => {
    for (let i = 0; i < 6; i += 1) await post(alice, url);
    const other = ROUTES.find((route) => route !== url) as string;
    expect(refusal(await post(alice, other))).toEqual(malformed);
    expect(refusal(await post(app.people.bob, url))).toEqual(malformed);
    await app.clock.pass(MINUTE_MS);
  });

  test.each(ROUTES)('POST %s: 401 and 426 come first and do not use it up', async (url) => {
    for (let i = 0; i < 10; i += 1) expect((await post(null, url)).status).toBe(401);
    for (let i = 0; i < 5; i += 1) expect(refusal(await post(alice, url))).toEqual(malformed);
  });

  test('bounds the devices that an account can create at once', async () => {
    const answers = [];
    for (let i = 0; i < 1_000; i += 1) {
      answers.push(await post(alice, '/v1/me/devices', JSON.stringify({ device_key: `key ${i}` })));
    }
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(5);
    const { body } = await app.call(alice, 'GET', '/v1/me/devices');
    expect(body.devices).toHaveLength(5);
  });
});

describeSqlite('sign-in is limited per client address', ({ fresh }) => {
  let app: TestApp;
  let port: number;
  beforeAll(async () => {
    app = await createTestApp(await fresh(), {
      ...AS_SHIPPED,
      // Tests connect from 127.0.0.1 (a trusted proxy) and from 127.0.0.2 (an unknown client).
      env: { SERVICE_TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8' },
    });
    port = Number(new URL((await app.plane.listen()).http).port);
  });
  afterAll(() => app.close());
  // Wait until every bucket is full again.
  beforeEach(() => app.clock.pass(10 * MINUTE_MS));

  /** Tries to sign in over a real connection. @param forwarded X-Forwarded-For that the peer sends; null: no header */
  function login(forwarded: string | null, localAddress = '127.0.0.1'): Promise<number> {
    return new Promise((resolve, reject) => {
      const headers = forwarded === null ? {} : { 'x-forwarded-for': forwarded };
      const sent = request(
        {
          host: '127.0.0.1',
          port,
          method: 'POST',
          path: '/v1/auth/login',
          headers,
          localAddress,
          agent: false,
        },
        (response) => {
          response.resume();
          response.on('end', () => resolve(response.statusCode ?? 0));
        },
      );
      sent.on('error', reject);
      sent.end('{');
    });
  }
  const PASSES = 400;
  const burst = async (count: number, from: (index: number) => Promise<number>): Promise<number[]> => {
    const statuses = [];
    for (let index = 0; index < count; index += 1) statuses.push(await from(index));
    return statuses;
  };

  test('of 50 addresses behind a trusted proxy the attacking one slows no other', async () => {
    const addresses = Array.from({ length: 50 }, (_, index) => `198.51.100.${index + 1}`);
    const [attacker, ...others] = addresses as [string, ...string[]];
    const attack = await burst(30, () => login(attacker));
    expect(attack.filter((status) => status === PASSES)).toHaveLength(10);
    expect(attack.slice(10).every((status) => status === 429)).toBe(true);
    const innocent = await Promise.all(
      others.map(async (address) => [...(await burst(3, () => login(address))), await login(attacker)]),
    );
    for (const statuses of innocent) expect(statuses).toEqual([PASSES, PASSES, PASSES, 429]);
  });

  test('a client behind the proxy gains nothing by hops that it adds on the left', async () => {
    const statuses = await burst(20, (index) => login(`203.0.113.${index}, x, 198.51.100.7, 10.1.2.3`));
    expect(statuses.filter((status) => status === PASSES)).toHaveLength(10);
    // The addresses that the client invented in the header keep full buckets.
    expect(await login('203.0.113.3')).toBe(PASSES);
  });

  test('a forged header from a peer that is no proxy changes nothing', async () => {
    const statuses = await burst(20, (index) => login(`203.0.113.${index}`, '127.0.0.2'));
    expect(statuses.filter((status) => status === PASSES)).toHaveLength(10);
    expect(await login('203.0.113.1')).toBe(PASSES);
    expect(await login(null, '127.0.0.2')).toBe(429);
  });

  test('one household shares a bucket, whichever of its IPv6 addresses it uses', async () => {
    const statuses = await burst(15, (index) => login(`2001:db8:1:2::${index.toString(16)}`));
    expect(statuses.filter((status) => status === PASSES)).toHaveLength(10);
    expect(await login('2001:db8:1:3::1')).toBe(PASSES);
  });

  test('the eleventh is refused with Retry-After before its body is read', async () => {
    await burst(10, () => login('198.51.100.99'));
    const head = await new Promise<string>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port });
      socket.on('error', reject);
      // The body that Content-Length announces is never sent.
      socket.write(
        'POST /v1/auth/login HTTP/1.1\r\nhost: x\r\nx-forwarded-for: 198.51.100.99\r\ncontent-length: 1000000\r\n\r\n',
      );
      socket.once('data', (data) => {
        resolve(data.toString());
        socket.destroy();
      });
    });
    expect(head).toMatch(/^HTTP\/1\.1 429 /);
    expect(head).toMatch(/\r\nretry-after: 5\r\n/i);
  });

  describe('register shares the bucket with login', () => {
    test('and the client version, the mode and the password come after it', async () => {
      const call = (url: string) =>
        app.call(null, 'POST', url, { body: '{', headers: { 'x-forwarded-for': '198.51.100.200' } });
      for (let i = 0; i < 5; i += 1) {
        expect((await call('/v1/auth/login')).status).toBe(PASSES);
        expect((await call('/v1/auth/register')).status).toBe(PASSES);
      }
      expect((await call('/v1/auth/login')).status).toBe(429);
      expect((await call('/v1/auth/register')).status).toBe(429);
    });
  });
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type ErrorCode, errorEnvelope, operations } from '@footlight/protocol/rest';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Answer,
  createTestApp,
  describeDatabases,
  type Person,
  type TestApp,
  UNKNOWN_ID,
} from '../../testing/index.ts';

function expectRefusal(answer: Answer, status: number, code: ErrorCode): void {
  expect([answer.status, answer.body?.error?.code]).toEqual([status, code]);
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
  expect(errorEnvelope.safeParse(answer.body).success).toBe(true);
}

describeDatabases('requests', (databases) => {
  let app: TestApp;
  let admin: Person;
  let alice: Person;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh(), { env: { SERVICE_MIN_CLIENT_VERSION: '2.0.0' } });
    ({ admin, alice } = app.people);
  });
  afterAll(() => app.close());

  describe('are checked in one order: token, client version, role, path, body', () => {
    const everythingWrong = { body: '{', headers: { 'x-service-client-version': '1.0.0' } };
    const url = '/v1/apps/not-a-uuid';

    test('no token is 401 even with other errors in the request', async () => {
      expectRefusal(await app.call(null, 'PATCH', url, everythingWrong), 401, 'unauthorized');
    });
    test('an old client: 426 before its role', async () => {
      const answer = await app.call(alice, 'PATCH', url, everythingWrong);
      expectRefusal(answer, 426, 'client_too_old');
      expect(answer.body.min_client_version).toBe('2.0.0');
      expect(answer.body.latest_client_version).toBeUndefined();
    });
    test('no administrator: 403 before the path', async () => {
      expectRefusal(await app.call(alice, 'PATCH', url, { body: '{' }), 403, 'forbidden');
    });
    test('a malformed id: 400 before the body', async () => {
      const answer = await app.call(admin, 'PATCH', url, { body: '{' });
      expectRefusal(answer, 400, 'validation_failed');
      expect(answer.body.error.message).toMatch(/^id: /);
    });
    test('a malformed body: 400 before the look-up', async () => {
      expectRefusal(
        await app.call(admin, 'PATCH', `/v1/apps/${UNKNOWN_ID}`, { body: '{' }),
        400,
        'validation_failed',
      );
    });
    test('an unknown id: 404', async () => {
      expectRefusal(await app.call(admin, 'PATCH', `/v1/apps/${UNKNOWN_ID}`, { body: {} }), 404, 'not_found');
    });
  });

  describe('the bearer header', () => {
    test.each([
      ['bearer TOKEN', 200],
      ['BEARER TOKEN ', 200],
      ['Bearer  TOKEN', 200],
      ['Bearer', 401],
      ['Bearer ', 401],
      ['Basic TOKEN', 401],
      ['TOKEN', 401],
      ['Bearer TOKENx', 401],
    ] as const)('"%s" → %i', async (template, status) => {
      const headers = { authorization: template.replace('TOKEN', alice.token) };
      expect((await app.call(null, 'GET', '/v1/me', { headers })).status).toBe(status);
    });
  });

  describe('paths and methods', () => {
    test.each(['/v1/nothing', '/v1', '/agent', '/agent/nothing', '/health/x'])(
      '%s is unknown: 404 in the envelope',
      async (url) => expectRefusal(await app.call(admin, 'GET', url), 404, 'not_found'),
    );

    test.each([
      ['PUT', '/v1/me', 'GET, HEAD'],
      ['GET', '/v1/auth/login', 'POST'],
      ['POST', `/v1/apps/${UNKNOWN_ID}`, 'DELETE, GET, HEAD, PATCH'],
      ['OPTIONS', '/v1/apps', 'GET, HEAD, POST'],
      ['DELETE', '/health', 'GET, HEAD'],
    ])('%s %s is 405 and says what is allowed', async (method, url, allow) => {
      const answer = await app.call(null, method, url);
      expectRefusal(answer, 405, 'method_not_allowed');
      expect(answer.headers.allow).toBe(allow);
    });

    test('HEAD is GET without the body', async () => {
      const answer = await app.call(alice, 'HEAD', '/v1/me');
      expect([answer.status, answer.text]).toEqual([200, '']);
    });

    test('a path that cannot be decoded is 400, never 500', async () => {
      expectRefusal(await app.call(admin, 'GET', '/v1/apps/%zz'), 400, 'validation_failed');
    });

    test('a path part of ten thousand characters is judged like any other', async () => {
      expectRefusal(await app.call(admin, 'GET', `/v1/apps/${'a'.repeat(10_000)}`), 400, 'validation_failed');
    });

    test('an id in capitals is the same id', async () => {
      const created = await app.call(admin, 'POST', '/v1/apps', { body: { name: 'Capitals' } });
      const answer = await app.call(admin, 'GET', `/v1/apps/${created.body.app.id.toUpperCase()}`);
      expect([answer.status, answer.body.app.id]).toEqual([200, created.body.app.id]);
    });
  });

  describe("administrators' paths, declared or not", () => {
    const declared = Object.values(operations).flatMap(({ path }) => path.split('/'));
    const segment = fc.oneof(
      fc.constantFrom(...declared, UNKNOWN_ID, '', '.', '%2e', '%zz', '%ff', 'x'.repeat(300)),
      fc.string({ maxLength: 12 }).map(encodeURIComponent),
    );
    const path = fc
      .tuple(
        fc.constantFrom('/v1/admin', '/v1/%61dmin', '/v1/hosts'),
        fc.array(segment, { maxLength: 4 }),
        fc.constantFrom('', '?', '?limit=x&cursor=%zz', '?x=/v1/apps'),
      )
      .map(([root, segments, query]) => [root, ...segments].join('/') + query);
    const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS');
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket' };
    const expectStatus = (answer: Answer, status: number, what: string, code: ErrorCode) => {
      const envelope = answer.text === '' ? code : answer.body?.error?.code;
      expect([answer.status, envelope], what).toEqual([status, code]);
    };

    test('are 401 without a token in force, and 403 for a user, with any method and body', async () => {
      const nobody = { ...alice, token: 'A'.repeat(43) };
      await fc.assert(
        fc.asyncProperty(path, method, fc.constantFrom({}, upgrade), async (url, verb, headers) => {
          const what = `${verb} ${url}`;
          const options = { headers, ...(verb !== 'GET' && verb !== 'HEAD' && { body: '{' }) };
          for (const caller of [null, nobody])
            expectStatus(await app.call(caller, verb, url, options), 401, what, 'unauthorized');
          expectStatus(await app.call(alice, verb, url, options), 403, what, 'forbidden');
        }),
        { numRuns: 300 },
      );
    });

    test.each([
      ['GET', '/v1/admin', 404, 'not_found'],
      ['GET', '/v1/admin/nothing', 404, 'not_found'],
      ['DELETE', '/v1/admin/settings', 405, 'method_not_allowed'],
      ['GET', '/v1/admin/%zz', 400, 'validation_failed'],
    ] as const)('%s %s is %i for an administrator', async (verb, url, status, code) => {
      expectRefusal(await app.call(admin, verb, url), status, code);
    });

    test('an old client gets 426 before its role is checked', async () => {
      const headers = { 'x-service-client-version': '1.0.0' };
      expectRefusal(await app.call(alice, 'GET', '/v1/admin/nothing', { headers }), 426, 'client_too_old');
    });
  });

  describe('bodies', () => {
    const create = (body: string | Buffer, headers: Record<string, string> = {}) =>
      app.call(admin, 'POST', '/v1/apps', { body, headers });

    test.each([
      'application/json',
      'text/plain',
      'application/x-www-form-urlencoded',
      'nonsense',
      'text/html; charset=x',
      '',
    ])('are read as JSON whatever their type says: "%s"', async (type) => {
      const answer = await create('{"name":"Typed","entitle":"none"}', { 'content-type': type });
      expect(answer.status).toBe(201);
    });

    test.each([
      ['empty', ''],
      ['blank', '  '],
      ['cut off', '{"name":"x"'],
      ['two values', '{"name":"x"}{}'],
      ['trailing text', '{"name":"x"} x'],
      ['no object', '[]'],
      ['null', 'null'],
      ['an unknown key', '{"name":"x","colour":"red"}'],
      ['__proto__ as a key', '{"name":"x","__proto__":{"enabled":false}}'],
      ['a wrong type', '{"name":7}'],
      ['NUL in text', '{"name":"a\\u0000b"}'],
    ])('%s: 400', async (_what, body) => {
      expectRefusal(await create(body), 400, 'validation_failed');
    });

    test('bytes that are no UTF-8: 400', async () => {
      expectRefusal(await create(Buffer.from([0x22, 0xff, 0xfe, 0x22])), 400, 'validation_failed');
    });

    test('a hundred thousand brackets: 400', async () => {
      const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
      expectRefusal(await create(`{"name":"x","runtime_spec":{"a":${deep}}}`), 400, 'validation_failed');
    });

    test('just under 1 MiB passes the cap, just over is 400', async () => {
      const filled = (bytes: number) => {
        const frame = '{"name":"Big","entitle":"none","description":""}';
        return frame.replace('""}', `"${'d'.repeat(bytes - frame.length)}"}`);
      };
      expect((await create(filled(1024 * 1024))).status).toBe(201);
      expectRefusal(await create(filled(1024 * 1024 + 1)), 400, 'validation_failed');
      expectRefusal(await create(filled(4 * 1024 * 1024)), 400, 'validation_failed');
    });

    test('any body is ignored where none is defined', async () => {
      for (const body of ['{', 'x'.repeat(2_000_000)]) {
        expect((await app.call(admin, 'POST', '/v1/setup/complete', { body })).status).toBe(200);
        expect((await app.call(admin, 'DELETE', `/v1/apps/${UNKNOWN_ID}`, { body })).status).toBe(404);
      }
    });
  });

  describe('answers', () => {
    test('JSON over a kilobyte is compressed for clients that accept it', async () => {
      for (let index = 0; index < 5; index += 1) {
        await app.call(admin, 'POST', '/v1/apps', {
          body: { name: `Compressed ${index}`, description: 'd'.repeat(400) },
        });
      }
      const answer = await app.plane.inject({
        method: 'GET',
        url: '/v1/apps',
        headers: { authorization: `Bearer ${alice.token}`, 'accept-encoding': 'gzip' },
      });
      expect(answer.headers['content-encoding']).toBe('gzip');
      expect(JSON.parse(gunzipSync(answer.rawPayload).toString()).items.length).toBeGreaterThan(4);
    });

    test('204 has neither body nor type', async () => {
      const created = await app.call(admin, 'POST', '/v1/apps', { body: { name: 'Gone' } });
      const answer = await app.call(admin, 'DELETE', `/v1/apps/${created.body.app.id}`);
      expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([204, '', undefined]);
    });

    test.each([
      ['GET', '/v1/me'],
      ['GET', '/nowhere'],
      ['GET', '/health'],
      ['PUT', '/v1/me'],
      ['GET', '/v1/apps/%zz'],
    ])('%s %s carries the headers that keep other pages out', async (method, url) => {
      const { headers } = await app.call(null, method, url);
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['cross-origin-opener-policy']).toBe('same-origin');
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
      expect(headers['content-security-policy']).not.toContain('unsafe-');
    });
  });

  describe('GET /health', () => {
    test('says that the service and its database answer', async () => {
      const answer = await app.call(null, 'GET', '/health');
      expect([answer.status, answer.body, answer.headers['cache-control']]).toEqual([
        200,
        { status: 'ok', db: 'ok' },
        'no-store',
      ]);
    });
  });

  test('no request line in the log holds a query or a token', async () => {
    await app.call(alice, 'GET', '/v1/apps?cursor=canary-query');
    await app.call(null, 'GET', '/v1/signal?token=canary-token');
    const lines = app.log.join('\n');
    expect(lines).toContain('"path":"/v1/apps"');
    expect(lines).not.toContain('canary');
    expect(lines).not.toContain(alice.token);
  });

  test('every operation with a role refuses callers without a sign-in, and those for administrators all other people', async () => {
    for (const operation of Object.values(operations)) {
      const url = operation.path.replace(/\{[^}]+\}/g, UNKNOWN_ID);
      if (operation.auth !== 'user' && operation.auth !== 'admin') continue;
      expectRefusal(await app.call(null, operation.method, url), 401, 'unauthorized');
      if (operation.auth === 'admin') {
        expectRefusal(await app.call(alice, operation.method, url), 403, 'forbidden');
      }
    }
  });
});

test('a database that is gone: 503 from /health, and elsewhere the envelope without the reason', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'footlight-gone-'));
  const app = await createTestApp({ dialect: 'sqlite', file: join(folder, 'control.db') });
  await app.plane.platform.database.close();
  const health = await app.call(null, 'GET', '/health');
  expect([health.status, health.body]).toEqual([503, { status: 'degraded', db: 'error' }]);
  const me = await app.call(app.people.alice, 'GET', '/v1/me');
  expect(me.body.error.code).toBe('internal');
  expect(JSON.stringify(me.body)).not.toMatch(/sqlite|database is/i);
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

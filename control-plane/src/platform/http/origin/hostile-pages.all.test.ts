import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type Operation, operations } from '@footlight/protocol/rest';
import { dialAgentSocket, FakeAgent, softwareCapacity } from '@footlight/test-harness';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type Answer,
  createTestApp,
  describeSqlite,
  dumpDatabase,
  type TestApp,
  UNKNOWN_ID,
} from '../../../testing/index.ts';

const ENROLLMENT_TOKEN = 'a-fixed-enrollment-token';
const PAYLOAD = '</script><script>alert(1)</script><img src=x onerror=alert(2)>"\'`{{7*7}}';
const all: Operation[] = Object.values(operations);
const urlOf = ({ path }: Operation): string => path.replace(/\{\w+\}/g, UNKNOWN_ID);

describeSqlite('a page of somebody else, in the browser of an administrator', (databases) => {
  let folder: string;
  let app: TestApp;
  let http: string;
  let cookie: string;
  let agent: FakeAgent;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'footlight-hostile-'));
    mkdirSync(join(folder, 'admin', 'assets'), { recursive: true });
    mkdirSync(join(folder, 'assets'));
    writeFileSync(join(folder, 'index.html'), '<!doctype html><title>user</title>');
    writeFileSync(join(folder, 'admin', 'index.html'), '<!doctype html><title>admin</title>');
    writeFileSync(join(folder, 'assets', 'a.js'), '0');
    writeFileSync(join(folder, 'admin', 'assets', 'a.js'), '0');
    app = await createTestApp(await databases.fresh(), {
      env: { SERVICE_WEB_DIR: folder, SERVICE_ENROLLMENT_TOKEN: ENROLLMENT_TOKEN },
    });
    ({ http } = await app.plane.listen());
    const me = await app.call(app.people.admin, 'GET', '/v1/me');
    cookie = String(me.headers['set-cookie']).split(';')[0] as string;
    agent = new FakeAgent({
      url: http,
      nodeName: 'hosta',
      credential: { token: ENROLLMENT_TOKEN },
      heartbeatMs: 0,
      capacity: {
        ...softwareCapacity(),
        host: { ...softwareCapacity().host, cpu_model: PAYLOAD },
        gpus: [{ ...softwareCapacity().gpus[0]!, model: PAYLOAD }],
        readiness: [
          {
            id: PAYLOAD.slice(0, 64),
            status: PAYLOAD.slice(0, 32),
            summary: PAYLOAD,
            remediation: [PAYLOAD],
          },
        ],
      },
    });
    await agent.connect();
    const host = async () => (await app.call(app.people.admin, 'GET', `/v1/hosts/${agent.hostId}`)).body;
    await vi.waitFor(async () => expect(await host()).toMatchObject({ cpu_model: PAYLOAD }), {
      timeout: 20_000,
    });
  });
  afterAll(async () => {
    await agent.drop();
    await app.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const evil = { origin: 'https://evil.example', referer: 'https://evil.example/' };

  describe('with forms and requests that need no permission', () => {
    test('changes nothing and reads nothing, although the cookie is sent', async () => {
      const before = await dumpDatabase(app.plane.platform.database);
      for (const operation of all.filter(({ auth }) => auth === 'user' || auth === 'admin')) {
        for (const type of [
          'text/plain',
          'application/x-www-form-urlencoded',
          'multipart/form-data; boundary=x',
        ]) {
          const answer = await app.call(null, operation.method, urlOf(operation), {
            body: '{"name":"x","email":"x@example.org"}',
            headers: { ...evil, cookie, 'content-type': type },
          });
          expect([operation.id, answer.status]).toEqual([operation.id, 401]);
        }
      }
      expect(await dumpDatabase(app.plane.platform.database)).toBe(before);
    });

    test('is never allowed access: no answer has a CORS header, not even to a preflight', async () => {
      for (const operation of all) {
        const preflight = await app.call(null, 'OPTIONS', urlOf(operation), {
          headers: {
            ...evil,
            'access-control-request-method': operation.method,
            'access-control-request-headers': 'authorization',
          },
        });
        const plain = await app.call(app.people.admin, 'GET', urlOf(operation), { headers: evil });
        for (const { headers } of [preflight, plain])
          expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
        expect(preflight.status).toBeGreaterThanOrEqual(400);
      }
    });

    test('cannot override the method by a header or a field', async () => {
      const created = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name: 'Kept' } });
      const id = created.body.app.id as string;
      for (const headers of [{ 'x-http-method-override': 'DELETE' }, { 'x-method-override': 'DELETE' }])
        await app.call(app.people.admin, 'GET', `/v1/apps/${id}?_method=DELETE`, { headers });
      expect((await app.call(app.people.admin, 'GET', `/v1/apps/${id}`)).status).toBe(200);
    });
  });

  test('no answer may be framed, sniffed, opened or shared by a cache', async () => {
    const answers: [string, Answer][] = [];
    for (const operation of all) {
      // A new person for each operation, because one of the operations signs out.
      const caller = await app.addPerson(`caller-of-${operation.id}`, 'admin');
      answers.push([operation.id, await app.call(caller, operation.method, urlOf(operation), { body: {} })]);
      answers.push([`${operation.id} as nobody`, await app.call(null, operation.method, urlOf(operation))]);
    }
    for (const path of [
      '/',
      '/login',
      '/app',
      '/app/x',
      '/setup',
      '/admin',
      '/admin/x',
      '/nothing',
      '/assets/a.js',
      '/assets/..%2findex.html',
      '/admin/assets/a.js',
      '/v1/nothing',
      '/%ff',
      '/v1/%ff',
    ])
      for (const headers of [{}, { cookie }])
        answers.push([path, await app.call(null, 'GET', path, { headers })]);
    for (const [what, { headers, status }] of answers) {
      const policy = String(headers['content-security-policy']);
      expect(policy, `${what} ${status}`).toContain("frame-ancestors 'none'");
      expect(String(headers['cache-control']), what).toMatch(/no-store|no-cache|private|immutable/);
      expect(policy, what).not.toMatch(/unsafe|\*|https?:/);
      expect(headers, what).toMatchObject({
        'x-content-type-options': 'nosniff',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-frame-options': 'DENY',
      });
    }
  });

  test('texts of people, pages and hosts are returned as data only, and never in a page', async () => {
    const admin = app.people.admin;
    const made = await app.call(admin, 'POST', '/v1/apps', { body: { name: PAYLOAD, description: PAYLOAD } });
    expect(made.status).toBe(201);
    await app.call(admin, 'POST', '/v1/admin/enrollment-tokens', { body: { note: PAYLOAD } });
    for (const path of [
      '/v1/apps',
      '/v1/admin/apps',
      '/v1/hosts',
      `/v1/hosts/${agent.hostId}`,
      `/v1/hosts/${agent.hostId}/gpus`,
      '/v1/admin/enrollment-tokens',
    ]) {
      const answer = await app.call(admin, 'GET', path);
      expect(String(answer.headers['content-type']), path).toMatch(/^application\/json/);
      expect(JSON.stringify(answer.body), path).toContain(JSON.stringify(PAYLOAD).slice(1, -1));
    }
    // A page, a redirect or a refusal must not repeat any part of a request either.
    const asked = encodeURIComponent(PAYLOAD);
    for (const path of [
      `/nothing/${asked}`,
      `/app/${asked}`,
      `/admin/${asked}?x=${asked}`,
      `/v1/${asked}`,
      `/v1/apps/${asked}`,
      `/v1/hosts?cursor=${asked}`,
    ]) {
      for (const caller of [null, admin]) {
        const answer = await app.call(caller, 'GET', path, { headers: caller === null ? {} : { cookie } });
        expect(answer.text, path).not.toMatch(/<script>alert|<img/);
        expect(String(answer.headers.location ?? ''), path).not.toMatch(/[<>"\r\n]/);
      }
    }
  });

  test('a redirect never leads to another server', async () => {
    for (const path of [
      '//evil.example',
      '/admin//evil.example',
      '/admin/..//evil.example',
      '/admin/%0d%0aset-cookie:%20a=b',
      '/\\evil.example',
      '/admin?next=https://evil.example',
    ]) {
      const { headers, status } = await app.call(null, 'GET', path);
      if (status < 300 || status >= 400) continue;
      expect(String(headers.location), path).toMatch(/^\/(login|app)\b/);
      expect(new URL(String(headers.location), 'http://here.example').host, path).toBe('here.example');
      expect(headers['set-cookie']).toBeUndefined();
    }
  });

  test('no path leads out of the folders of the build', async () => {
    writeFileSync(join(app.dir, 'secret.txt'), 'canary-of-the-disk');
    const outs = ['..', '%2e%2e', '%2e%2e%2f', '..%5c', '%252e%252e', '....', '%c0%ae%c0%ae', '.%00.'];
    for (const root of ['/assets', '/admin/assets', '']) {
      for (const out of outs) {
        for (const rest of [
          '/index.html',
          '/../etc/passwd',
          '/control.db',
          '/admin/index.html',
          '/secret.txt',
        ]) {
          const socket = connect(Number(new URL(http).port), '127.0.0.1');
          let text = '';
          socket.on('data', (chunk: Buffer) => {
            text += chunk.toString('latin1');
          });
          // Written directly to the socket, because HTTP clients normalize paths.
          socket.write(`GET ${root}/${out}${rest} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
          await new Promise((resolve) => socket.once('close', resolve));
          expect(text, `${root}/${out}${rest}`).not.toMatch(
            /root:|canary-of-the-disk|<title>admin|SQLite format/,
          );
          expect(text, `${root}/${out}${rest}`).toMatch(/^HTTP\/1.1 (4|302)/);
        }
      }
    }
  });

  test('compression bombs have no effect: bodies are never decompressed, and sockets negotiate no compression', async () => {
    const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024, 'a'));
    for (const encoding of ['gzip', 'deflate', 'br', 'gzip, gzip']) {
      const answer = await app.call(app.people.admin, 'POST', '/v1/apps', {
        body: bomb,
        headers: { 'content-encoding': encoding },
      });
      expect([encoding, answer.status, answer.body.error.code]).toEqual([encoding, 400, 'validation_failed']);
    }
    const packed = gzipSync(JSON.stringify({ name: 'Packed' }));
    const answer = await app.call(app.people.admin, 'POST', '/v1/apps', {
      body: packed,
      headers: { 'content-encoding': 'gzip' },
    });
    expect(answer.status).toBe(400);
    const socket = await dialAgentSocket(http, {
      ...agent.headers(),
      'Sec-WebSocket-Extensions': 'permessage-deflate',
    });
    expect(socket.extensions).toBe('');
    socket.terminate();
  });
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { createLogger, systemClock, systemRandom } from '@footlight/platform';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../config/config.ts';
import { registerPages } from './pages.ts';
import { createServer, type Server } from './server.ts';

const ADMIN_COOKIE = 'service_page=admin';
const PROVIDER = '<meta name="single-sign-on" content="" />';
const USER_PAGE = `<html>${PROVIDER}<title>user</title>`;
const SIGN_IN_PAGE = `<!doctype html><meta name="registration" content="" />${PROVIDER}<title>sign in</title>`;
const ADMIN_PAGE = '<html><title>admin</title>';
const LONG_CODE = 'let long = 1;'.repeat(500);

let webDir: string;
let server: Server;
let adminExists = true;
let registrationMode: string | null = null;
let singleSignOn: string | null = null;

beforeAll(() => {
  webDir = mkdtempSync(path.join(tmpdir(), 'pages-'));
  mkdirSync(path.join(webDir, 'assets'));
  mkdirSync(path.join(webDir, 'admin', 'assets'), { recursive: true });
  mkdirSync(path.join(webDir, 'sign-in'));
  const files: Record<string, string | Buffer> = {
    'index.html': USER_PAGE,
    'sign-in/index.html': SIGN_IN_PAGE,
    'admin/index.html': ADMIN_PAGE,
    'icon.svg': '<svg/>',
    'assets/main-abc.js': 'user code',
    'assets/main-abc.js.gz': gzipSync('user code'),
    'assets/long-abc.js': LONG_CODE,
    'admin/assets/admin-abc.js': 'admin code',
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(path.join(webDir, name), content);
});

afterAll(() => rmSync(webDir, { recursive: true }));

async function start(dir = webDir): Promise<Server> {
  const logger = createLogger('silent');
  const config = loadConfig({ SERVICE_TLS: 'off', SERVICE_DATA_DIR: '/nonexistent' });
  server = await createServer({
    config,
    logger,
    clock: systemClock,
    random: systemRandom,
    certificate: null,
    writable: () => true,
  });
  const gate = {
    opensAdminPages: async (cookie: string | undefined) => cookie === ADMIN_COOKIE,
    adminExists: async () => adminExists,
    registrationMode: async () => registrationMode,
  };
  await registerPages(server, { webDir: dir, logger, gate, singleSignOn });
  return server;
}

afterEach(async () => {
  adminExists = true;
  registrationMode = null;
  singleSignOn = null;
  await server.fastify.close();
});

async function get(
  url: string,
  headers: Record<string, string> = {},
  method: 'GET' | 'HEAD' | 'POST' = 'GET',
) {
  return server.fastify.inject({ method, url, headers });
}

describe('pages for everybody', () => {
  test('sends / to the library', async () => {
    await start();
    const answer = await get('/');
    expect([answer.statusCode, answer.headers.location]).toEqual([302, '/app']);
  });

  test.each([
    ['/login', 'sign in'],
    ['/register', 'sign in'],
    ['/login/callback?code=c', 'sign in'],
    ['/reset?token=t', 'sign in'],
    ['/app', 'user'],
    ['/app/account', 'user'],
    ['/app/session/x?y=1', 'user'],
    ['/join', 'user'],
  ])('%s is the document %s, and never stored', async (url, document) => {
    await start();
    const answer = await get(url);
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toContain(`<title>${document}`);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect((await get(url, {}, 'HEAD')).statusCode).toBe(200);
  });

  test.each([
    ['closed', 'content="closed"'],
    ['invite_only', 'content="invite_only"'],
    [null, 'content=""'],
  ])('says at once that registration is %s', async (mode, told) => {
    await start();
    registrationMode = mode;
    for (const url of ['/login', '/register'])
      expect((await get(url)).body).toContain(`<meta name="registration" ${told} />`);
  });

  test.each([
    [null, 'content=""'],
    ['Castle', 'content="Castle"'],
    ['"><script>&$1', 'content="&quot;>&lt;script>&amp;$1"'],
  ])('names the identity provider %s on each page that can show the login', async (name, told) => {
    singleSignOn = name;
    await start();
    for (const url of ['/login', '/login/callback', '/app'])
      expect((await get(url)).body).toContain(`<meta name="single-sign-on" ${told} />`);
  });

  test('offers /setup only while no administrator exists', async () => {
    await start();
    expect((await get('/setup')).headers.location).toBe('/login');
    adminExists = false;
    expect((await get('/setup')).body).toContain('<title>sign in');
  });

  test.each(['/nothing', '/apps', '/index.html', '/assets/missing.js', '/admin.html'])(
    '%s is 404 with the app page',
    async (url) => {
      await start();
      const answer = await get(url);
      expect(answer.statusCode).toBe(404);
      expect(answer.body).toContain('<title>user');
    },
  );

  test('keeps the envelope below /v1, /agent and /health, and for other methods', async () => {
    await start();
    for (const url of ['/v1/nothing', '/v1', '/agent/x', '/health/x']) {
      expect((await get(url)).json().error.code, url).toBe('not_found');
    }
    expect((await get('/nothing', {}, 'POST')).json().error.code).toBe('not_found');
  });
});

describe('files', () => {
  test('gives assets to everybody, for ever, compressed where the build did it', async () => {
    await start();
    const plain = await get('/assets/main-abc.js');
    expect(plain.body).toBe('user code');
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    const zipped = await get('/assets/main-abc.js', { 'accept-encoding': 'gzip' });
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect((await get('/icon.svg')).headers['content-type']).toContain('image/svg+xml');
  });

  test('compresses none for a request, because anybody may ask again and again', async () => {
    await start();
    const answer = await get('/assets/long-abc.js', { 'accept-encoding': 'gzip, br' });
    expect(answer.headers['content-encoding']).toBeUndefined();
    expect(answer.body).toBe(LONG_CODE);
  });

  test('gives the administrators’ files to the page cookie only, and privately', async () => {
    await start();
    expect((await get('/admin/assets/admin-abc.js')).statusCode).toBe(404);
    expect((await get('/admin/assets/admin-abc.js', { cookie: 'service_page=other' })).statusCode).toBe(404);
    const opened = await get('/admin/assets/admin-abc.js', { cookie: ADMIN_COOKIE });
    expect(opened.body).toBe('admin code');
    expect(opened.headers['cache-control']).toContain('private');
    expect((await get('/admin/assets/missing.js', { cookie: ADMIN_COOKIE })).statusCode).toBe(404);
  });

  test('gives the whole file for any requested range', async () => {
    await start();
    expect((await get('/assets/main-abc.js', { range: 'bytes=99999-' })).body).toBe('user code');
  });

  test.each([
    '/assets/../admin/assets/admin-abc.js',
    '/assets/..%2fadmin%2fassets%2fadmin-abc.js',
    '/assets/%2e%2e/admin/assets/admin-abc.js',
    '/assets/..%5cadmin%5cassets%5cadmin-abc.js',
    '/assets//../admin/assets/admin-abc.js',
    '/admin/assets/../../index.html',
    '/assets/%00',
    '/assets/..%2f..%2f..%2f..%2fetc%2fpasswd',
  ])('%s leads nowhere', async (url) => {
    await start();
    const answer = await get(url);
    expect(answer.statusCode).toBeGreaterThanOrEqual(302);
    expect(answer.statusCode).toBeLessThan(500);
    expect(answer.body).not.toContain('admin code');
    expect(answer.body).not.toContain('root:');
  });
});

describe('the administrators’ pages', () => {
  test.each(['/admin', '/admin/hosts', '/admin/setup'])('%s opens with the cookie', async (url) => {
    await start();
    const answer = await get(url, { cookie: ADMIN_COOKIE });
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toContain('<title>admin');
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  test.each([
    ['/admin', '/login?next=%2Fadmin'],
    ['/admin/hosts?a=b&c=d', '/login?next=%2Fadmin%2Fhosts%3Fa%3Db%26c%3Dd'],
  ])('%s leads to %s without it', async (url, location) => {
    await start();
    const answer = await get(url);
    expect([answer.statusCode, answer.headers.location]).toEqual([302, location]);
  });
});

describe('without a built web app', () => {
  test('answers with that fact, and the gates still work', async () => {
    await start('/nonexistent');
    expect((await get('/app')).statusCode).toBe(503);
    expect((await get('/admin')).statusCode).toBe(302);
    expect((await get('/nothing')).statusCode).toBe(404);
  });
});

describe('every answer', () => {
  test.each(['/', '/app', '/nothing', '/v1/nothing', '/assets/main-abc.js', '/admin', '/setup'])(
    '%s forbids framing, sniffing, opening and foreign code',
    async (url) => {
      await start();
      const { headers } = await get(url);
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("img-src 'self' data:");
      expect(policy).not.toContain('unsafe');
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'cross-origin-opener-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
      });
    },
  );
});

import zlib, { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createTestApp, describeSqlite, type TestApp } from '../testing/index.ts';
import { referenceText } from './document.ts';

describeSqlite('the published contract', ({ fresh }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp(await fresh(), { seedPeople: false });
  });
  afterAll(() => app.close());

  const get = (url: string, headers: Record<string, string> = {}) => app.call(null, 'GET', url, { headers });

  test('is read by anybody, as the document that the declarations make', async () => {
    const answer = await get('/v1/openapi.json');
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    expect(answer.text).toBe(referenceText());
    expect(answer.headers['cache-control']).toBe('no-cache');
  });

  test('is sent compressed to clients that accept it', async () => {
    const answer = await app.plane.inject({
      url: '/v1/openapi.json',
      headers: { 'accept-encoding': 'gzip' },
    });
    expect(answer.headers['content-encoding']).toBe('gzip');
    expect(answer.headers.vary).toContain('accept-encoding');
    expect(gunzipSync(answer.rawPayload).toString()).toBe(referenceText());
  });

  test('is compressed once, not for each request', async () => {
    const streams = [vi.spyOn(zlib, 'createGzip'), vi.spyOn(zlib, 'createBrotliCompress')];
    for (const url of ['/v1/openapi.json', '/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css']) {
      for (const encodings of ['gzip, deflate, br', 'gzip', 'br']) {
        const answer = await app.plane.inject({ url, headers: { 'accept-encoding': encodings } });
        expect([url, answer.statusCode]).toEqual([url, 200]);
        if (encodings.includes('gzip')) {
          expect(answer.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
          expect(gunzipSync(answer.rawPayload).toString()).toBe((await get(url)).text);
        }
      }
    }
    for (const stream of streams) expect(stream).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  test('is not sent again to a client that has it', async () => {
    const etag = String((await get('/v1/openapi.json')).headers.etag);
    expect(etag).toMatch(/^W\/"[\w-]{43}"$/);
    for (const tags of [etag, etag.slice(2), `"other", ${etag}`, '*']) {
      const answer = await get('/v1/openapi.json', { 'if-none-match': tags });
      expect([answer.status, answer.text, answer.headers.etag]).toEqual([304, '', etag]);
    }
    const other = await get('/v1/openapi.json', { 'if-none-match': '"other"' });
    expect(other.status).toBe(200);
    const file = '/docs/swagger-ui-bundle.js';
    const fileTag = String((await get(file)).headers.etag);
    const again = await get(file, { 'if-none-match': fileTag });
    expect([again.status, again.text, again.headers.etag]).toEqual([304, '', fileTag]);
  });

  test('answers HEAD without a body', async () => {
    for (const url of ['/v1/openapi.json', '/docs', '/docs/page.js']) {
      const answer = await app.call(null, 'HEAD', url);
      expect([answer.status, answer.text], url).toEqual([200, '']);
    }
  });

  test('is a page whose every file comes from here, under the policy of every page', async () => {
    const page = await get('/docs');
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.text).toContain('<title>Footlight API</title>');
    expect(page.text).not.toMatch(/<(script|style)>|\son\w+=|\sstyle=|https?:/);
    const policy = String(page.headers['content-security-policy']);
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toContain('unsafe');
    const files = [...page.text.matchAll(/(?:src|href)="(\/docs\/[^"]+)"/g)].map((match) => String(match[1]));
    expect(files).toHaveLength(4);
    for (const file of files) {
      const answer = await get(file);
      expect([file, answer.status]).toEqual([file, 200]);
      expect(answer.headers['content-type']).toMatch(/^(text\/css|(text|application)\/javascript)/);
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
    }
  });

  test('has no other file of the renderer', async () => {
    for (const url of [
      '/docs/',
      '/docs/index.html',
      '/docs/swagger-ui.js',
      '/docs/../app.ts',
      '/docs/%2e%2e/x',
    ]) {
      expect([url, (await get(url)).status]).toEqual([url, 404]);
    }
  });
});

import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Answer,
  createTestApp,
  describeDatabases,
  loggedActivity,
  type TestApp,
  UNKNOWN_ID,
} from '../testing/index.ts';
import { claimingPng, GIF, HTML, JPEG, POLYGLOT, png, SVG, WEBP } from './testing/pictures.ts';

const MAX_BYTES = 64 * 1024;
const nameOf = (bytes: Buffer, extension: string) =>
  `${createHash('sha256').update(bytes).digest('hex')}.${extension}`;

describeDatabases('pictures of administrators', ({ fresh }) => {
  let app: TestApp;
  let appId: string;

  beforeAll(async () => {
    app = await createTestApp(await fresh(), { env: { SERVICE_ARTWORK_MAX_BYTES: String(MAX_BYTES) } });
    appId = await addApp('Sample Quest');
  });
  afterAll(() => app.close());

  async function addApp(name: string, more: object = {}): Promise<string> {
    const created = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name, ...more } });
    expect(created.status).toBe(201);
    return created.body.app.id;
  }

  const upload = (
    bytes: Buffer,
    type: string | null = 'image/png',
    { id = appId, query = '' }: { id?: string; query?: string } = {},
  ): Promise<Answer> =>
    app.call(app.people.admin, 'POST', `/v1/admin/apps/${id}/artwork/upload${query}`, {
      body: bytes,
      ...(type !== null && { headers: { 'content-type': type } }),
    });
  const admin = (method: string, path: string, body?: unknown) =>
    app.call(app.people.admin, method, path, body === undefined ? {} : { body });
  const listed = async (id = appId) => (await admin('GET', `/v1/apps/${id}`)).body.app;
  const lastActivity = async () => (await loggedActivity(app)).at(-1);
  const blobFile = (asset: string) => join(app.dir, 'artwork', asset.slice(0, 2), asset);

  describe('upload', () => {
    test.each([
      ['20,000 × 20,000', claimingPng(20_000, 20_000)],
      ['one pixel more than is decoded', claimingPng(8192, 4609)],
      ['as many as a PNG can', claimingPng(0x7fffffff, 0x7fffffff)],
      ['a row of four billion', claimingPng(0xffffffff, 1)],
    ])('refuses a PNG that claims %s, and stores nothing', async (_, bytes) => {
      const other = await addApp(`Bomb ${_}`);
      const answer = await upload(bytes, 'image/png', { id: other });
      expect([answer.status, answer.body.error?.code]).toEqual([400, 'validation_failed']);
      expect(answer.body.error.message).toMatch(/pixels/);
      const { body } = await admin('GET', `/v1/admin/apps/${other}/artwork`);
      expect(body.artwork).toBeNull();
    });

    test('takes a PNG with as many pixels as are decoded', async () => {
      const other = await addApp('Largest');
      expect((await upload(png(8192, 4608), 'image/png', { id: other })).status).toBe(200);
    });

    test('stores the bytes as they are, locks the record and shows the picture in the app list', async () => {
      const bytes = png(20, 30, 1);
      const asset = nameOf(bytes, 'png');
      await admin('POST', `/v1/admin/apps/${appId}/entitlements`, { subject_type: 'all' });
      const before = await app.call(app.people.alice, 'GET', '/v1/apps');
      const answer = await upload(bytes);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        artwork: {
          app_id: appId,
          source: 'manual',
          provider: '',
          provider_ref: '',
          matched_name: '',
          tile_url: `/v1/artwork/${asset}`,
          hero_url: null,
          attribution: '',
          locked: true,
          updated_at: new Date(app.clock.nowMs()).toISOString(),
        },
        provider_configured: false,
        provider_name: 'steamgriddb',
        provider_origin: 'none',
      });
      expect(readFileSync(blobFile(asset)).equals(bytes)).toBe(true);
      expect(readdirSync(join(app.dir, 'artwork', 'partial'))).toEqual([]);
      const after = await app.call(app.people.alice, 'GET', '/v1/apps');
      const cover = (list: Answer) =>
        list.body.items.find((item: { id: string }) => item.id === appId)?.cover_url;
      expect([cover(before), cover(after)]).toEqual([null, `/v1/artwork/${asset}`]);
      expect(await lastActivity()).toMatchObject({
        action: 'app.artwork.upload',
        target_type: 'app',
        target_id: appId,
        actor_user_id: app.people.admin.id,
        details: { crop: 'tile' },
      });
    });

    test('of one crop keeps the other', async () => {
      const [tile, hero] = [png(20, 30, 2), png(96, 31, 3)];
      await upload(tile);
      const answer = await upload(hero, 'image/png', { query: '?crop=hero' });
      const expected = {
        tile_url: `/v1/artwork/${nameOf(tile, 'png')}`,
        hero_url: `/v1/artwork/${nameOf(hero, 'png')}`,
      };
      expect(answer.body.artwork).toMatchObject(expected);
      expect(await listed()).toMatchObject({ cover_url: expected.tile_url, hero_url: expected.hero_url });
      expect((await admin('GET', `/v1/admin/apps/${appId}/artwork`)).body).toEqual(answer.body);
      expect(await lastActivity()).toMatchObject({ details: { crop: 'hero' } });
    });

    test.each([
      ['a JPEG', JPEG, 'image/jpeg'],
      ['a JPEG under its common name', JPEG, 'image/jpg'],
      ['a JPEG with parameters in its type', JPEG, 'Image/JPEG; quality=1'],
      ['a PNG', png(4, 4), 'image/png'],
      ['a WebP', WEBP, 'image/webp'],
      ['a picture that is also a page', POLYGLOT, 'image/jpeg'],
    ])('takes %s', async (_, bytes, type) => {
      expect((await upload(bytes, type)).status).toBe(200);
    });

    test.each([
      ['no type', png(4, 4), null],
      ['a type that is no image', png(4, 4), 'application/octet-stream'],
      ['a type that only begins like one', png(4, 4), 'imagery/png'],
      ['another image type than the bytes', png(4, 4), 'image/jpeg'],
      ['an unknown image type', png(4, 4), 'image/*'],
      ['an SVG', SVG, 'image/svg+xml'],
      ['an SVG that says it is a PNG', SVG, 'image/png'],
      ['a page that says it is a PNG', HTML, 'image/png'],
      ['a GIF', GIF, 'image/gif'],
      ['a page with a picture behind it', Buffer.concat([HTML, png(4, 4)]), 'image/png'],
      ['half a signature', png(4, 4).subarray(0, 5), 'image/png'],
      ['nothing', Buffer.alloc(0), 'image/png'],
    ])('refuses %s with 400 and changes nothing', async (_, bytes, type) => {
      const before = await admin('GET', `/v1/admin/apps/${appId}/artwork`);
      const answer = await upload(bytes, type);
      expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_failed']);
      expect((await admin('GET', `/v1/admin/apps/${appId}/artwork`)).body).toEqual(before.body);
    });

    test('takes a file of the cap and refuses one byte more with 413', async () => {
      const picture = png(4, 4);
      const padded = (size: number) => Buffer.concat([picture, Buffer.alloc(size - picture.length)]);
      expect((await upload(padded(MAX_BYTES))).status).toBe(200);
      const answer = await upload(padded(MAX_BYTES + 1));
      expect([answer.status, answer.body.error.code]).toEqual([413, 'validation_failed']);
    });

    test('counts the received bytes, with any Content-Length', async () => {
      const { http } = await app.plane.listen();
      const send = (headers: string, body: Buffer) =>
        new Promise<string>((resolve, reject) => {
          const { hostname, port } = new URL(http);
          const socket = connect(Number(port), hostname);
          let text = '';
          socket.on('data', (chunk) => {
            text += chunk.toString('latin1');
            if (text.includes('\r\n\r\n')) {
              resolve(text);
              socket.destroy();
            }
          });
          socket.on('error', reject);
          socket.write(
            `POST /v1/admin/apps/${appId}/artwork/upload HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${app.people.admin.token}\r\ncontent-type: image/png\r\n${headers}\r\n\r\n`,
          );
          socket.write(body);
        });
      const tooLong = Buffer.alloc(MAX_BYTES + 1);
      const chunked = Buffer.concat([
        Buffer.from(`${tooLong.length.toString(16)}\r\n`),
        tooLong,
        Buffer.from('\r\n0\r\n\r\n'),
      ]);
      expect(await send('transfer-encoding: chunked', chunked)).toMatch(/^HTTP\/1\.1 413 /);
      // With a short Content-Length the rest of the bytes is not part of this request.
      expect(await send('content-length: 4', Buffer.from('\x89PNG'))).toMatch(/^HTTP\/1\.1 400 /);
    });

    test('checks in the order: crop, type, size, bytes, app', async () => {
      const gone = { id: UNKNOWN_ID };
      const statuses = [
        await upload(Buffer.alloc(MAX_BYTES + 1), 'text/plain', { ...gone, query: '?crop=face' }),
        await upload(Buffer.alloc(MAX_BYTES + 1), 'text/plain', gone),
        await upload(Buffer.alloc(MAX_BYTES + 1), 'image/png', gone),
        await upload(HTML, 'image/png', gone),
        await upload(png(4, 4), 'image/png', gone),
      ].map(({ status, body }) => [status, body.error.message.split(/[ :]/)[0]]);
      expect(statuses).toEqual([
        [400, 'crop'],
        [400, 'Content-Type'],
        [413, 'The'],
        [400, 'The'],
        [404, 'There'],
      ]);
    });
  });

  describe('the record', () => {
    test('is null until a search or a choice', async () => {
      const id = await addApp('Untouched');
      const answer = await admin('GET', `/v1/admin/apps/${id}/artwork`);
      expect([answer.status, answer.body.artwork]).toEqual([200, null]);
    });

    test('keeps cover_url from being written, the whole request', async () => {
      const id = await addApp('Covered');
      await upload(png(20, 30, 9), 'image/png', { id });
      const refused = await admin('PATCH', `/v1/apps/${id}`, { name: 'Renamed', cover_url: null });
      expect([refused.status, refused.body.error.code]).toEqual([409, 'conflict']);
      expect((await listed(id)).name).toBe('Covered');
      expect((await admin('PATCH', `/v1/apps/${id}`, { name: 'Renamed' })).status).toBe(200);
    });

    test('is deleted by DELETE, its pictures stay in the folder, and a repeat succeeds', async () => {
      const bytes = png(20, 30, 10);
      const id = await addApp('Cleared');
      await upload(bytes, 'image/png', { id });
      for (let round = 0; round < 2; round += 1) {
        expect((await admin('DELETE', `/v1/admin/apps/${id}/artwork`)).status).toBe(204);
        expect(await lastActivity()).toMatchObject({ action: 'app.artwork.cleared', target_id: id });
      }
      expect(await listed(id)).toMatchObject({ cover_url: null, hero_url: null });
      expect((await admin('GET', `/v1/admin/apps/${id}/artwork`)).body.artwork).toBeNull();
      expect(readFileSync(blobFile(nameOf(bytes, 'png'))).equals(bytes)).toBe(true);
      const patched = await admin('PATCH', `/v1/apps/${id}`, { cover_url: '/pictures/mine.png' });
      expect(patched.body.app.cover_url).toBe('/pictures/mine.png');
    });

    test('leaves an address that an administrator typed where it has no tile of its own', async () => {
      const id = await addApp('Typed', { cover_url: 'https://pictures.example/mine.png' });
      await upload(png(96, 31, 11), 'image/png', { id, query: '?crop=hero' });
      expect((await listed(id)).cover_url).toBe('https://pictures.example/mine.png');
    });

    test('is deleted with its app', async () => {
      const id = await addApp('Short-lived');
      await upload(png(20, 30, 12), 'image/png', { id });
      expect((await admin('DELETE', `/v1/apps/${id}`)).status).toBe(204);
      const rows = await app.plane.platform.database.db
        .selectFrom('artwork_records')
        .select('app_id')
        .where('app_id', '=', id)
        .execute();
      expect(rows).toEqual([]);
    });
  });

  describe('without a usable folder', () => {
    const folder = () => join(app.dir, 'artwork');

    test('every route of the area answers 503 internal, before anything else is judged', async () => {
      rmSync(folder(), { recursive: true, force: true });
      writeFileSync(folder(), 'no folder');
      const asset = `${'0'.repeat(64)}.png`;
      const answers = [
        await app.call(null, 'GET', `/v1/artwork/${asset}`),
        await admin('GET', `/v1/admin/apps/${UNKNOWN_ID}/artwork`),
        await admin('PUT', `/v1/admin/apps/${UNKNOWN_ID}/artwork`, {}),
        await admin('DELETE', `/v1/admin/apps/${UNKNOWN_ID}/artwork`),
        await admin('POST', `/v1/admin/apps/${UNKNOWN_ID}/artwork/search`),
        await upload(png(4, 4)),
        await admin('POST', '/v1/admin/artwork/reresolve'),
      ];
      expect(answers.map(({ status, body }) => [status, body.error.code])).toEqual(
        answers.map(() => [503, 'internal']),
      );
      expect(answers[0]?.headers['retry-after']).toBe('30');
    });

    test('and works again once it is there, without a restart', async () => {
      rmSync(folder());
      mkdirSync(folder());
      expect((await upload(png(20, 30, 13))).status).toBe(200);
    });
  });
});

test('a folder that cannot be used does not keep the service from starting', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'footlight-art-'));
  const file = join(dir, 'file');
  writeFileSync(file, '');
  const app = await createTestApp(
    { dialect: 'sqlite', file: join(dir, 'control.db') },
    { env: { SERVICE_ARTWORK_DIR: join(file, 'below') } },
  );
  expect((await app.call(null, 'GET', '/health')).status).toBe(200);
  expect((await app.call(null, 'GET', `/v1/artwork/${'0'.repeat(64)}.png`)).status).toBe(503);
  await app.close();
  rmSync(dir, { recursive: true, force: true });
});

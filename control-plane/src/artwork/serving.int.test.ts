import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, HOUR_MS, systemClock, systemRandom } from '@footlight/platform';
import type { ArtworkWidth } from '@footlight/protocol/rest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiError } from '../platform/errors.ts';
import { createTestApp, describeDatabases, type TestApp } from '../testing/index.ts';
import { sniffPicture } from './asset.ts';
import { type BlobStore, createBlobStore } from './blobs.ts';
import type { Decoder } from './decoder.ts';
import { createSizes } from './sizes.ts';
import { JPEG, png, WEBP } from './testing/pictures.ts';

/** Width and height of a lossy or lossless WebP, from its header. Source: RFC 9649. */
function webpSize(bytes: Buffer): [number, number] {
  expect(bytes.subarray(8, 12).toString('latin1')).toBe('WEBP');
  const kind = bytes.subarray(12, 16).toString('latin1');
  if (kind === 'VP8 ') return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff];
  if (kind === 'VP8X') return [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1];
  const bits = bytes.readUInt32LE(21);
  return [(bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1];
}

describeDatabases('GET /v1/artwork/{asset}', ({ fresh }) => {
  let app: TestApp;
  let appId: string;

  beforeAll(async () => {
    app = await createTestApp(await fresh());
    const created = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name: 'Sample Quest' } });
    appId = created.body.app.id;
  });
  afterAll(() => app.close());

  /** Stores a picture and returns its path. */
  async function stored(bytes: Buffer, type: string): Promise<string> {
    const answer = await app.call(app.people.admin, 'POST', `/v1/admin/apps/${appId}/artwork/upload`, {
      body: bytes,
      headers: { 'content-type': type },
    });
    expect(answer.status, answer.text).toBe(200);
    return answer.body.artwork.tile_url;
  }
  const get = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
    app.plane.inject({ method, url, headers });
  const sizesKept = () =>
    readdirSync(join(app.dir, 'artwork', 'sizes'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name);

  test.each([
    ['a JPEG', JPEG, 'image/jpeg'],
    ['a PNG', png(40, 60, 1), 'image/png'],
    ['a WebP', WEBP, 'image/webp'],
  ])(
    'serves %s without a sign-in, byte for byte, cacheable for ever and not executable',
    async (_, bytes, type) => {
      const path = await stored(bytes, type);
      const answer = await get(path, { 'accept-encoding': 'gzip' });
      expect(answer.statusCode).toBe(200);
      expect(answer.rawPayload.equals(bytes)).toBe(true);
      expect(answer.headers).toMatchObject({
        'content-type': type,
        'content-length': String(bytes.length),
        etag: `"${path.split('/').pop()}"`,
        'cache-control': 'public, max-age=31536000, immutable',
        'content-security-policy': "default-src 'none'; sandbox",
        'x-content-type-options': 'nosniff',
      });
      expect(answer.headers).not.toHaveProperty('content-encoding');
    },
  );

  test('does not compress a large picture either', async () => {
    const bytes = Buffer.concat([png(4, 4), Buffer.alloc(50_000)]);
    const answer = await get(await stored(bytes, 'image/png'), { 'accept-encoding': 'gzip, br' });
    expect(answer.rawPayload.equals(bytes)).toBe(true);
  });

  test('answers HEAD with the same headers and nothing else', async () => {
    const path = await stored(png(40, 60, 2), 'image/png');
    const [head, whole] = [await get(path, {}, 'HEAD'), await get(path)];
    expect(head.rawPayload.length).toBe(0);
    for (const name of ['etag', 'content-type', 'content-length', 'cache-control'])
      expect(head.headers[name]).toBe(whole.headers[name]);
  });

  test('answers 304 to a client that has it, for each width by itself', async () => {
    const path = await stored(png(40, 60, 3), 'image/png');
    const name = path.split('/').pop();
    for (const [query, etag] of [
      ['', `"${name}"`],
      ['?w=300', `"${name}-300"`],
    ]) {
      for (const held of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const answer = await get(`${path}${query}`, { 'if-none-match': String(held) });
        expect([answer.statusCode, answer.body, answer.headers.etag]).toEqual([304, '', etag]);
      }
    }
    expect((await get(path, { 'if-none-match': `"${name}-300"` })).statusCode).toBe(200);
    expect((await get(`${path}?w=600`, { 'if-none-match': `"${name}"` })).statusCode).toBe(200);
  });

  test.each([
    `${'a'.repeat(64)}.png`,
    `${'A'.repeat(64)}.png`,
    `${'a'.repeat(63)}.png`,
    `${'a'.repeat(64)}.gif`,
    `${'a'.repeat(64)}.png.300`,
    `${'a'.repeat(64)}`,
    '..%2f..%2fcontrol.db',
    '%2e%2e',
    'partial',
    'x',
  ])('%s is 404', async (name) => {
    const answer = await get(`/v1/artwork/${name}`);
    expect([answer.statusCode, answer.json().error.code]).toEqual([404, 'not_found']);
  });

  test.each(['0', '299', '300.0', '0300', '-300', '900', '', 'w', '300&w=600'])(
    'w=%s is 400',
    async (width) => {
      const path = await stored(png(40, 60, 4), 'image/png');
      expect((await get(`${path}?w=${width}`)).statusCode).toBe(400);
    },
  );

  test.each([300, 600, 1200])('w=%d gives a WebP of that width, made once', async (width) => {
    const path = await stored(png(400, 600, 5), 'image/png');
    const answer = await get(`${path}?w=${width}`);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'image/webp',
      'content-length': String(answer.rawPayload.length),
      etag: `"${path.split('/').pop()}-${width}"`,
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
    });
    expect(webpSize(answer.rawPayload)).toEqual([width, width * 1.5]);
    const kept = sizesKept();
    const again = await get(`${path}?w=${width}`);
    expect(again.rawPayload.equals(answer.rawPayload)).toBe(true);
    expect(sizesKept()).toEqual(kept);
  });

  test.each([
    ['is cut off', png(400, 600, 6).subarray(0, 70)],
    ['is a thread', png(1, 5_000)],
  ])('a picture that %s is served unchanged, and not tried again', async (_, bytes) => {
    const path = await stored(bytes, 'image/png');
    for (let round = 0; round < 2; round += 1) {
      const answer = await get(`${path}?w=300`);
      expect(answer.statusCode).toBe(200);
      expect(answer.rawPayload.equals(bytes)).toBe(true);
      expect(answer.headers['content-type']).toBe('image/png');
    }
    expect(sizesKept()).toContain(`${path.split('/').pop()}.300`);
  });
});

describe('sizes', () => {
  let dir: string;
  let blobs: BlobStore;
  /** Decodings that wait until the test releases them. */
  let waiting: (() => void)[];
  let decoded: number;

  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'footlight-sizes-'));
    blobs = createBlobStore(dir, { random: systemRandom, logger: createLogger('silent') });
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  /** A decoder that finishes when the test releases it. */
  function heldDecoder(): Decoder {
    waiting = [];
    decoded = 0;
    return {
      isTooLarge: async () => false,
      toWebp: (bytes, width) =>
        new Promise((resolve) => {
          decoded += 1;
          waiting.push(() => resolve(Buffer.from(`${bytes.length}@${width}`)));
        }),
    };
  }
  async function keep(bytes: Buffer): Promise<string> {
    const sniffed = await sniffPicture(bytes);
    if (!sniffed) throw new Error('no picture');
    const { asset, release } = await blobs.put(bytes, sniffed);
    release();
    return asset;
  }

  test('asked for by many at once are made once', async () => {
    const sizes = createSizes(blobs, heldDecoder());
    const asset = await keep(png(4, 6, 100));
    const asked = Array.from({ length: 50 }, () => sizes.open(asset, 300));
    await expect.poll(() => waiting.length).toBe(1);
    waiting[0]?.();
    const opened = await Promise.all(asked);
    for (const size of opened) await size?.file.close();
    expect([decoded, opened.every((size) => size !== null)]).toEqual([1, true]);
  });

  test('are made two at a time, and beyond 1,000 that wait more are refused with 503', async () => {
    let looked = 0;
    const openSize: BlobStore['openSize'] = (asset, width) =>
      blobs.openSize(asset, width).finally(() => {
        looked += 1;
      });
    const sizes = createSizes({ ...blobs, openSize }, heldDecoder());
    const asset = await keep(png(4, 6, 101));
    // These pictures do not exist; their requests still wait for their turn.
    const names = Array.from({ length: 1_000 }, (_, n) => `${n.toString(16).padStart(64, '0')}.png`);
    const widths: ArtworkWidth[] = [300, 600];
    const inProgress = widths.map((width) => sizes.open(asset, width));
    // File operations finish in any order. A missing picture whose turn comes first would not wait.
    await expect.poll(() => waiting.length).toBe(2);
    const asked = [...inProgress, ...names.map((n) => sizes.open(n, 300))];
    // Wait until all requests have looked for their size, so that all of them are waiting.
    await expect.poll(() => looked).toBe(asked.length);
    const refused = await sizes.open(asset, 1200).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ApiError);
    expect((refused as ApiError).status).toBe(503);
    for (const go of waiting) go();
    for (const size of await Promise.all(asked)) await size?.file.close();
    expect(decoded).toBe(2);
  });
});

describe('the folder of pictures', () => {
  let dir: string;
  let blobs: BlobStore;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'footlight-blobs-'));
    blobs = createBlobStore(join(dir, 'art'), { random: systemRandom, logger: createLogger('silent') });
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const put = (bytes: Buffer) => blobs.put(bytes, { extension: 'png', type: 'image/png' });
  const nobody = async () => false;

  test('keeps a blob from removal until its writer has released it', async () => {
    const first = await put(png(4, 4, 1));
    const second = await put(png(4, 4, 1));
    expect(await blobs.removeOrphan(first.asset, nobody)).toBe(false);
    first.release();
    first.release();
    expect(await blobs.removeOrphan(first.asset, nobody)).toBe(false);
    second.release();
    expect(await blobs.removeOrphan(first.asset, nobody)).toBe(true);
    expect(await blobs.read(first.asset)).toBeNull();
  });

  test('keeps a blob that is written again while its removal looks for references', async () => {
    const { asset, release } = await put(png(4, 4, 2));
    release();
    let answerNobody: (referenced: boolean) => void = () => undefined;
    const removal = blobs.removeOrphan(asset, () => new Promise((resolve) => (answerNobody = resolve)));
    const again = put(png(4, 4, 2));
    answerNobody(false);
    expect(await removal).toBe(false);
    expect((await again).asset).toBe(asset);
    expect(await blobs.read(asset)).not.toBeNull();
  });

  test('writes a blob again after its removal has begun', async () => {
    const { asset, release } = await put(png(4, 4, 3));
    release();
    let begun: Promise<unknown> = Promise.resolve();
    const removal = blobs.removeOrphan(asset, async () => {
      // Runs after the last check of the pins, when some files are already removed.
      begun = Promise.resolve()
        .then(() => Promise.resolve())
        .then(() => put(png(4, 4, 3)));
      return false;
    });
    expect(await removal).toBeTypeOf('boolean');
    await begun;
    expect(await blobs.read(asset)).not.toBeNull();
  });

  test('survives concurrent writers and removals of one blob: a writer with a pin finds it', async () => {
    for (let round = 0; round < 50; round += 1) {
      const first = await put(png(4, 4, 4));
      const removal = blobs.removeOrphan(first.asset, nobody);
      first.release();
      const second = put(png(4, 4, 4));
      const late = blobs.removeOrphan(first.asset, nobody);
      const held = await second;
      await Promise.all([removal, late]);
      expect(await blobs.read(held.asset)).not.toBeNull();
      held.release();
    }
  });

  test('keeps young files, because another replica may be writing them or storing their names', async () => {
    const shared = createBlobStore(join(dir, 'art'), {
      ...{ random: systemRandom, logger: createLogger('silent') },
      keepYoung: { forMs: HOUR_MS, clock: systemClock },
    });
    const { asset, release } = await put(png(4, 4, 6));
    release();
    const file = join(dir, 'art', asset.slice(0, 2), asset);
    const half = join(dir, 'art', 'partial', 'half');
    writeFileSync(half, 'half');
    await shared.tidy();
    expect([await shared.removeOrphan(asset, nobody), existsSync(half)]).toEqual([false, true]);
    const old = (systemClock.nowMs() - HOUR_MS) / 1_000;
    for (const one of [file, half]) utimesSync(one, old, old);
    await shared.tidy();
    expect([await shared.removeOrphan(asset, nobody), existsSync(half)]).toEqual([true, false]);
  });

  test('keeps an old file that another replica writes again during its removal', async () => {
    const shared = createBlobStore(join(dir, 'art'), {
      ...{ random: systemRandom, logger: createLogger('silent') },
      keepYoung: { forMs: HOUR_MS, clock: systemClock },
    });
    const picture = png(4, 4, 7);
    const { asset, release } = await put(picture);
    release();
    const old = (systemClock.nowMs() - HOUR_MS) / 1_000;
    utimesSync(join(dir, 'art', asset.slice(0, 2), asset), old, old);
    const noRecordYet = async () => {
      (await put(picture)).release();
      return false;
    };
    expect(await shared.removeOrphan(asset, noRecordYet)).toBe(false);
    expect(await blobs.read(asset)).not.toBeNull();
  });

  test('removes what a crash left: half-written files and sizes of blobs that are gone', async () => {
    const { asset, release } = await put(png(4, 4, 5));
    release();
    await blobs.putSize(asset, 300, Buffer.from('size'));
    const gone = `${'f'.repeat(64)}.png`;
    await blobs.putSize(gone, 600, Buffer.from('size'));
    mkdirSync(join(dir, 'art', 'partial'), { recursive: true });
    writeFileSync(join(dir, 'art', 'partial', 'left'), 'half');
    writeFileSync(join(dir, 'art', 'README'), 'of somebody else');
    await blobs.tidy();
    expect(existsSync(join(dir, 'art', 'partial', 'left'))).toBe(false);
    expect(existsSync(join(dir, 'art', 'README'))).toBe(true);
    expect(await blobs.openSize(gone, 600)).toBeNull();
    const kept = await blobs.openSize(asset, 300);
    await kept?.file.close();
    expect(kept?.sizeBytes).toBe(4);
    // The sizes are removed with the blob.
    expect(await blobs.removeOrphan(asset, nobody)).toBe(true);
    expect(await blobs.openSize(asset, 300)).toBeNull();
  });
});

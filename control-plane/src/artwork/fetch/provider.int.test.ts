import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  type Answer,
  createTestApp,
  describeDatabases,
  dumpDatabase,
  loggedActivity,
  ofOneProcess,
  type TestApp,
  UNKNOWN_ID,
} from '../../testing/index.ts';
import {
  type FakeProvider,
  file,
  json,
  KEY,
  redirectTo,
  startFakeProvider,
} from '../testing/fake-provider.ts';
import { GIF, HTML, JPEG, png, SVG } from '../testing/pictures.ts';

const ATTRIBUTION = 'Artwork via SteamGridDB';
const pathOf = (bytes: Buffer, extension = 'png') =>
  `/v1/artwork/${createHash('sha256').update(bytes).digest('hex')}.${extension}`;

describeDatabases('artwork of a provider', (databases) => {
  let app: TestApp;
  let fake: FakeProvider;
  const made: TestApp[] = [];

  beforeAll(async () => {
    fake = await startFakeProvider(() => app.clock.nowMs());
    fake.games.push(
      { id: 11, name: 'Sample Quest', steamId: '4711', tile: png(60, 90, 11), hero: png(96, 31, 11) },
      { id: 12, name: 'Sample Quest 2', tile: png(60, 90, 12) },
      { id: 13, name: 'Sampler', hero: png(96, 31, 13) },
      { id: 14, name: 'Nothing to see', steamId: '14' },
    );
    app = await start({ artwork: { policy: fake.policy, providerKey: KEY } });
  });
  afterAll(async () => {
    for (const each of made) await each.close();
    await fake.close();
  });
  afterEach(() => {
    fake.broken = null;
    fake.files.clear();
  });

  async function start(overrides: object, env: Record<string, string> = {}): Promise<TestApp> {
    const started = await createTestApp(await databases.fresh(), { overrides, env });
    made.push(started);
    return started;
  }
  /**
   * Advances the time until the work ends, because calls of the provider wait for each other. Server and provider run
   * in this process, so a fetch ends long before a deadline is reached.
   */
  async function passing<T>(work: Promise<T>, on = app): Promise<T> {
    let done = false;
    const ended = work.finally(() => {
      done = true;
    });
    ended.catch(() => undefined);
    while (!done) {
      await on.clock.pass(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return ended;
  }
  const admin = (method: string, url: string, body?: unknown, on = app): Promise<Answer> =>
    passing(on.call(on.people.admin, method, url, body === undefined ? {} : { body }), on);
  async function addApp(name: string, more: object = {}, on = app): Promise<string> {
    const created = await admin('POST', '/v1/apps', { name, ...more }, on);
    expect(created.status, created.text).toBe(201);
    return created.body.app.id;
  }
  const artworkOf = async (id: string, on = app) =>
    (await admin('GET', `/v1/admin/apps/${id}/artwork`, undefined, on)).body.artwork;
  const set = (id: string, body: unknown) => admin('PUT', `/v1/admin/apps/${id}/artwork`, body);
  const search = (id: string, body?: unknown) => admin('POST', `/v1/admin/apps/${id}/artwork/search`, body);
  const upload = (id: string, bytes: Buffer) =>
    app.call(app.people.admin, 'POST', `/v1/admin/apps/${id}/artwork/upload`, {
      body: bytes,
      headers: { 'content-type': 'image/png' },
    });
  const activities = (action: string, on = app) => loggedActivity(on, { action });
  const codeOf = ({ status, body }: Answer) => [status, body?.error?.code];

  /** Ways in which a provider can fail: error statuses, broken answers, no answer, an endless body. */
  const FAILURES: [string, NonNullable<FakeProvider['broken']>][] = [
    ['429', (_request, response) => json(response, 429, { success: false })],
    ['500', (_request, response) => json(response, 500, { success: false })],
    ['503', (_request, response) => void response.writeHead(503).end()],
    ['401', (_request, response) => json(response, 401, { success: false })],
    ['no JSON', file(HTML, 'text/html')],
    ['half a JSON', file(Buffer.from('{"success":true,"data":['), 'application/json')],
    ['nothing', (_request, response) => void response.writeHead(200).end()],
    [
      'a list of something else',
      (_request, response) => json(response, 200, { success: true, data: [{ id: 'x' }] }),
    ],
    ['a failure with status 200', (_request, response) => json(response, 200, { success: false, data: [] })],
    ['a cut line', (request) => void request.socket.destroy()],
    ['a redirect elsewhere', (_request, response) => redirectTo('http://127.0.0.1:1/')(_request, response)],
    ['silence', () => undefined],
    [
      'a body over the limit',
      (_request, response) => {
        response.writeHead(200);
        const pour = (): void => {
          if (!response.destroyed && response.write(Buffer.alloc(64 * 1024))) setImmediate(pour);
          else response.once('drain', pour);
        };
        pour();
      },
    ],
  ];

  describe('search', () => {
    test("looks for the app's name, with small pictures that this server fetched, and writes nothing", async () => {
      const id = await addApp('Sample Quest');
      const answer = await search(id);
      expect(answer.status).toBe(200);
      const { candidates, ...facts } = answer.body;
      expect(facts).toEqual({
        provider_configured: true,
        provider_name: 'steamgriddb',
        provider_origin: 'static',
      });
      expect(candidates.map(({ ref, name }: { ref: string; name: string }) => [ref, name])).toEqual([
        ['11', 'Sample Quest'],
        ['12', 'Sample Quest 2'],
        ['13', 'Sampler'],
      ]);
      expect(candidates[0].thumb_url).toBe(`${fake.origin}/pictures/11/thumb.png`);
      expect(candidates[0].thumb_data).toMatch(/^data:image\/webp;base64,UklGR/);
      expect(candidates[0].thumb_data.length).toBeLessThanOrEqual(32 * 1024);
      // A title without a portrait picture can still be chosen.
      expect(candidates[2]).toMatchObject({ thumb_url: null, thumb_data: null });
      expect(await artworkOf(id)).toBeNull();
    });

    test('accepts other search terms, and an empty result is no error', async () => {
      const id = await addApp('Whatever');
      expect((await search(id, { query: 'Nothing to see' })).body.candidates).toHaveLength(1);
      expect((await search(id, { query: 'unknown/../words' })).body.candidates).toEqual([]);
      for (const query of ['..', '.', '\ud800']) expect((await search(id, { query })).status).toBe(200);
    });

    ofOneProcess('calls at least 500 ms apart, for all callers together', async () => {
      const id = await addApp('Sample Quest');
      fake.calls.length = 0;
      // Advance the clock once for both: with two loops the time-outs would fire before the answers arrive.
      const ask = () => app.call(app.people.admin, 'POST', `/v1/admin/apps/${id}/artwork/search`);
      const answers = await passing(Promise.all([ask(), ask()]));
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(fake.calls.length).toBeGreaterThan(6);
      for (let n = 1; n < fake.calls.length; n += 1) {
        const [before, after] = [fake.calls[n - 1], fake.calls[n]];
        expect((after?.atMs ?? 0) - (before?.atMs ?? 0)).toBeGreaterThanOrEqual(500);
      }
    });

    test('asks for the sizes that it shows', async () => {
      fake.calls.length = 0;
      await search(await addApp('Sample Quest 2'));
      expect(fake.calls[0]?.path).toBe('/search/autocomplete/Sample%20Quest%202');
      expect(fake.calls[1]?.path).toContain('?dimensions=600x900,660x930,342x482&');
    });

    test.each([
      ['leads inside', redirectTo('http://127.0.0.2/')],
      ['is a page', file(HTML, 'image/png')],
      ['is an SVG', file(SVG, 'image/svg+xml')],
      ['is not there', redirectTo('/gone.png')],
    ])('shows null for a small picture that %s', async (_, answer) => {
      fake.files.set('/pictures/14/thumb.png', answer);
      fake.games[3] = { ...(fake.games[3] as object), id: 14, name: 'Nothing to see', tile: png(2, 3) };
      const found = await search(await addApp('Nothing to see'));
      delete fake.games[3].tile;
      expect(found.body.candidates[0]).toMatchObject({ ref: '14', thumb_data: null });
    });

    test.each(FAILURES)('is 502 when the provider answers %s', async (_, broken) => {
      const id = await addApp('Sample Quest');
      fake.broken = broken;
      const answer = await search(id);
      expect(codeOf(answer)).toEqual([502, 'provider_unavailable']);
      expect(answer.text).not.toContain(KEY);
    });
  });

  describe('a picked title', () => {
    test('gives both pictures, its name and the credit, and locks the record', async () => {
      const id = await addApp('My own name for it');
      const answer = await set(id, { provider_ref: '11', tile_url: 'https://ignored.example/' });
      expect(answer.status, answer.text).toBe(200);
      expect(answer.body.artwork).toMatchObject({
        source: 'manual',
        provider: 'steamgriddb',
        provider_ref: '11',
        matched_name: 'Sample Quest',
        tile_url: pathOf(png(60, 90, 11)),
        hero_url: pathOf(png(96, 31, 11)),
        attribution: ATTRIBUTION,
        locked: true,
      });
      const listed = (await admin('GET', `/v1/apps/${id}`)).body.app;
      expect([listed.cover_url, listed.hero_url]).toEqual([pathOf(png(60, 90, 11)), pathOf(png(96, 31, 11))]);
      expect((await activities('app.artwork.set')).at(-1)).toMatchObject({
        target_type: 'app',
        target_id: id,
        details: {},
      });
      fake.calls.length = 0;
      await upload(id, png(60, 90, 99));
      expect(await artworkOf(id)).toMatchObject({
        provider: '',
        provider_ref: '',
        matched_name: '',
        attribution: '',
        tile_url: pathOf(png(60, 90, 99)),
        hero_url: pathOf(png(96, 31, 11)),
      });
      expect(fake.calls).toEqual([]);
    });

    test.each(['14', '999', '../11', '11/../../x', '0', '-1', 'a'.repeat(64)])(
      'that has no pictures, or is none at all (%s), is 400',
      async (provider_ref) => {
        const id = await addApp('Nobody');
        expect(codeOf(await set(id, { provider_ref }))).toEqual([400, 'validation_failed']);
        expect(await artworkOf(id)).toBeNull();
      },
    );

    test.each(FAILURES)('is 502 when the provider answers %s, and nothing is written', async (_, broken) => {
      const id = await addApp('Sample Quest');
      const before = (await activities('app.artwork.set')).length;
      fake.broken = broken;
      expect(codeOf(await set(id, { provider_ref: '11' }))).toEqual([502, 'provider_unavailable']);
      expect(codeOf(await set(id, { rematch: true }))).toEqual([502, 'provider_unavailable']);
      fake.broken = null;
      expect(await artworkOf(id)).toBeNull();
      expect((await activities('app.artwork.set')).length).toBe(before);
    });

    test.each([
      ['lead inside', redirectTo('http://127.0.0.2/x.png')],
      ['are pages', file(HTML, 'image/png')],
    ])('is 502 when the pictures that it names %s', async (_, answer) => {
      const id = await addApp('Sample Quest');
      fake.files.set('/pictures/11/tile.png', answer);
      expect(codeOf(await set(id, { provider_ref: '11' }))).toEqual([502, 'provider_unavailable']);
      expect(await artworkOf(id)).toBeNull();
    });
  });

  describe('rematch', () => {
    test('of a game finds it by its name, and the record stays unlocked', async () => {
      const id = await addApp('SAMPLE QUEST: Game of the Year Edition');
      fake.calls.length = 0;
      const answer = await set(id, { rematch: true, provider_ref: '12' });
      expect(answer.body.artwork).toMatchObject({ source: 'provider', provider_ref: '11', locked: false });
      // The search uses the app's unchanged name.
      expect(fake.calls[0]?.path).toContain('Game%20of%20the%20Year');
    });

    test('that finds nothing stores that and removes the pictures', async () => {
      const id = await addApp('Sample Quest 3');
      expect((await set(id, { rematch: true })).body.artwork).toMatchObject({
        source: 'none',
        provider: '',
        tile_url: null,
        hero_url: null,
        locked: false,
      });
      expect((await admin('GET', `/v1/apps/${id}`)).body.app.cover_url).toBeNull();
    });

    test('leaves a locked record alone, unless it is forced', async () => {
      const id = await addApp('Sample Quest');
      await upload(id, png(60, 90, 50));
      fake.calls.length = 0;
      expect(codeOf(await set(id, { rematch: true }))).toEqual([409, 'conflict']);
      expect(fake.calls).toEqual([]);
      expect(await artworkOf(id)).toMatchObject({ source: 'manual', locked: true });
      const forced = await set(id, { rematch: true, force: true });
      expect(forced.body.artwork).toMatchObject({ source: 'provider', locked: false });
    });
  });

  describe('addresses', () => {
    test('are fetched, and a crop that is not sent keeps what it has', async () => {
      const id = await addApp('By address');
      fake.files.set('/a.jpg', file(JPEG, 'image/jpeg'));
      fake.files.set('/b.png', file(png(96, 31, 60), 'image/png'));
      const first = await set(id, { tile_url: `${fake.origin}/a.jpg` });
      expect(first.body.artwork).toMatchObject({
        source: 'manual',
        tile_url: pathOf(JPEG, 'jpg'),
        hero_url: null,
        locked: true,
        provider: '',
      });
      const second = await set(id, { hero_url: ` ${fake.origin}/b.png `, rematch: false, provider_ref: ' ' });
      expect(second.body.artwork).toMatchObject({
        tile_url: pathOf(JPEG, 'jpg'),
        hero_url: pathOf(png(96, 31, 60)),
      });
    });

    test.each([
      ['leads inside', () => 'http://127.0.0.2/a.png'],
      ['is no address', () => '/v1/artwork/a.png'],
      ['is a file', () => 'file:///etc/passwd'],
      ['is not there', () => `${fake.origin}/gone.png`],
      ['is a GIF', () => `${fake.origin}/gif`],
      ['is an SVG', () => `${fake.origin}/svg`],
    ])('of which one %s are 400, and nothing is written', async (_, address) => {
      const id = await addApp('By address');
      fake.files.set('/a.jpg', file(JPEG, 'image/jpeg'));
      fake.files.set('/gif', file(GIF, 'image/gif'));
      fake.files.set('/svg', file(SVG, 'image/svg+xml'));
      const answer = await set(id, { tile_url: `${fake.origin}/a.jpg`, hero_url: address() });
      expect(codeOf(answer)).toEqual([400, 'validation_failed']);
      expect(answer.body.error.message).toMatch(/^hero_url: /);
      expect(await artworkOf(id)).toBeNull();
    });

    test('larger than the cap are 400', async () => {
      const id = await addApp('By address');
      const large = Buffer.concat([png(4, 4), Buffer.alloc(8 * 1024 * 1024)]);
      fake.files.set('/large.png', file(large, 'image/png'));
      expect(codeOf(await set(id, { tile_url: `${fake.origin}/large.png` }))).toEqual([
        400,
        'validation_failed',
      ]);
    });

    test.each([{}, { rematch: false }, { force: true }, { tile_url: '' }, { provider_ref: ' ' }])(
      'or another intent must be there: %j is 400, before the app is looked up',
      async (body) => {
        expect(codeOf(await set(UNKNOWN_ID, body))).toEqual([400, 'validation_failed']);
      },
    );
  });

  describe('reresolve', () => {
    test('looks again for all apps, and forced for the locked ones too', async () => {
      const on = await start({ artwork: { policy: fake.policy, providerKey: KEY } });
      const reresolve = (body?: unknown) => admin('POST', '/v1/admin/artwork/reresolve', body, on);
      await addApp('Sample Quest', {}, on);
      await addApp('Unknown', {}, on);
      await addApp('Desktop', { kind: 'desktop' }, on);
      const locked = await addApp('Sample Quest 2', {}, on);
      await on.call(on.people.admin, 'POST', `/v1/admin/apps/${locked}/artwork/upload`, {
        body: png(2, 3),
        headers: { 'content-type': 'image/png' },
      });
      const counts = { total: 4, resolved: 1, skipped_locked: 1, failed: 0 };
      expect((await reresolve()).body).toEqual(counts);
      expect((await activities('app.artwork.reresolve', on)).at(-1)?.details).toEqual({
        force: false,
        total: 4,
        count: 1,
        skipped_locked: 1,
        failed: 0,
      });
      expect((await reresolve({ force: true })).body).toEqual({ ...counts, resolved: 2, skipped_locked: 0 });
      expect(await artworkOf(locked, on)).toMatchObject({ source: 'provider', locked: false });
      fake.broken = (_request, response) => json(response, 500, {});
      fake.calls.length = 0;
      expect((await reresolve({ force: true })).body).toEqual({
        total: 4,
        resolved: 0,
        skipped_locked: 0,
        failed: 3,
      });
      expect(await artworkOf(locked, on)).toMatchObject({ source: 'provider' });
    });

    ofOneProcess('runs once at a time', async () => {
      fake.calls.length = 0;
      const first = app.call(app.people.admin, 'POST', '/v1/admin/artwork/reresolve');
      await expect.poll(() => fake.calls.length).toBeGreaterThan(0);
      expect(codeOf(await app.call(app.people.admin, 'POST', '/v1/admin/artwork/reresolve'))).toEqual([
        409,
        'conflict',
      ]);
      expect((await passing(first)).status).toBe(200);
    });
  });

  describe('without a provider', () => {
    test.each([
      ['no key', {}, { provider_configured: false, provider_name: 'steamgriddb', provider_origin: 'none' }],
      [
        'the lookup switched off, whatever keys exist',
        { SERVICE_ARTWORK_PROVIDER: 'none', SERVICE_STEAMGRIDDB_API_KEY: KEY },
        { provider_configured: false, provider_name: '', provider_origin: 'none' },
      ],
    ])('%s: no provider is called, and operations that need one are 409', async (_, env, facts) => {
      const on = await start({ artwork: { policy: fake.policy } }, env);
      const id = await addApp('Sample Quest', {}, on);
      fake.requests.length = 0;
      const envelope = await admin('GET', `/v1/admin/apps/${id}/artwork`, undefined, on);
      expect(envelope.body).toEqual({ artwork: null, ...facts });
      const base = `/v1/admin/apps/${id}/artwork`;
      const refused = [
        await admin('POST', `${base}/search`, {}, on),
        await admin('PUT', base, { rematch: true }, on),
        await admin('PUT', base, { provider_ref: '11' }, on),
        await admin('POST', '/v1/admin/artwork/reresolve', undefined, on),
      ];
      for (const answer of refused) expect(codeOf(answer)).toEqual([409, 'conflict']);
      await on.clock.pass(60 * 60 * 1000);
      await on.plane.jobs.runNow('artwork.sweep');
      expect(fake.requests).toEqual([]);
      // An unknown app is reported before a missing provider.
      const gone = await admin('POST', `/v1/admin/apps/${UNKNOWN_ID}/artwork/search`, {}, on);
      expect(codeOf(gone)).toEqual([404, 'not_found']);
      fake.files.set('/a.jpg', file(JPEG, 'image/jpeg'));
      expect((await admin('PUT', base, { tile_url: `${fake.origin}/a.jpg` }, on)).status).toBe(200);
    });

    test('a key is used from the moment it is stored until it is cleared, and an unreadable one is reported', async () => {
      const on = await start(
        { artwork: { policy: fake.policy } },
        { SERVICE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'), SERVICE_STEAMGRIDDB_API_KEY: KEY },
      );
      const id = await addApp('Sample Quest', {}, on);
      const facts = async () => (await admin('GET', `/v1/admin/apps/${id}/artwork`, undefined, on)).body;
      const secret = '/v1/admin/secrets/artwork.steamgriddb.api_key';
      expect(await facts()).toMatchObject({ provider_configured: true, provider_origin: 'environment' });
      await admin('PUT', secret, { value: KEY }, on);
      expect(await facts()).toMatchObject({ provider_configured: true, provider_origin: 'database' });
      expect((await admin('POST', `/v1/admin/apps/${id}/artwork/search`, {}, on)).status).toBe(200);
      await on.plane.platform.database.db.updateTable('secrets').set({ key_version: 9 }).execute();
      const broken = await facts();
      expect(broken).toMatchObject({ provider_configured: false, provider_origin: 'none' });
      expect(broken.provider_problem.length).toBeGreaterThan(10);
      expect(broken.provider_problem).not.toContain(KEY.slice(-4));
      await admin('DELETE', secret, undefined, on);
      expect(await facts()).toMatchObject({ provider_origin: 'environment' });
    });
  });

  test('the key reaches only the provider: no answer, log, record, file or other server', async () => {
    const on = await start(
      { artwork: { policy: fake.policy } },
      { SERVICE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64') },
    );
    const answers: string[] = [];
    const call = async (method: string, url: string, body?: unknown) => {
      const answer = await admin(method, url, body, on);
      answers.push(answer.text, JSON.stringify(answer.headers));
      return answer;
    };
    const stored = await on.call(on.people.admin, 'PUT', '/v1/admin/secrets/artwork.steamgriddb.api_key', {
      body: { value: KEY },
    });
    answers.push(stored.text);
    const id = (await call('POST', '/v1/apps', { name: 'Sample Quest' })).body.app.id;
    const base = `/v1/admin/apps/${id}/artwork`;
    /** Headers of requests to other paths than the provider's API. */
    const elsewhere: unknown[] = [];
    fake.files.set('/elsewhere', (request, response) => {
      elsewhere.push(request.headers);
      json(response, 200, { success: true, data: [] });
    });
    // Answers that repeat the key in a text that people or records would get.
    const echo = (data: unknown): NonNullable<FakeProvider['broken']> => {
      return (_request, response) => json(response, 200, { success: true, data });
    };
    for (const broken of [
      echo([{ id: 11, name: `Sample ${KEY}` }]),
      echo({ id: 11, name: KEY }),
      echo([{ url: `${fake.origin}/${KEY}`, thumb: `${fake.origin}/${KEY}` }]),
      (_request: unknown, response: Parameters<NonNullable<FakeProvider['broken']>>[1]) =>
        void response.writeHead(500, { 'x-echo': KEY }).end(KEY),
      redirectTo(`${fake.origin}/elsewhere`),
      ...FAILURES.slice(0, 4).map(([, answer]) => answer),
    ]) {
      fake.broken = broken;
      await call('POST', `${base}/search`);
      await call('PUT', base, { rematch: true });
      await call('PUT', base, { provider_ref: '11' });
      await passing(on.plane.jobs.runNow('artwork.sweep'), on);
    }
    fake.broken = null;
    // A title that contains the key in an otherwise valid answer: once plain, and once with characters in between that
    // are removed from names.
    for (const name of [`Sample ${KEY}`, `Sample ${[...KEY].join('\u0007')}`]) {
      fake.games.push({ id: 15, name, tile: png(60, 90, 15) });
      expect(codeOf(await call('POST', `${base}/search`))).toEqual([502, 'provider_unavailable']);
      expect(codeOf(await call('PUT', base, { provider_ref: '15' }))).toEqual([502, 'provider_unavailable']);
      fake.games.pop();
    }
    fake.files.set('/pictures/11/tile.png', (request, response) => {
      elsewhere.push(request.headers);
      file(png(60, 90, 11), 'image/png')(request, response);
    });
    expect((await call('PUT', base, { provider_ref: '11' })).status).toBe(200);
    await call('GET', '/v1/admin/secrets');
    await call('GET', '/v1/admin/activity');
    const files = readdirSync(on.dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
    const places = {
      answers: answers.join('\n'),
      log: on.log.join('\n'),
      database: await dumpDatabase(on.plane.platform.database),
      files: files.join('\n'),
      'other servers': JSON.stringify(elsewhere),
    };
    for (const [place, text] of Object.entries(places)) {
      expect(text.length, place).toBeGreaterThan(0);
      expect(text.includes(KEY), place).toBe(false);
    }
  });
});

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { describeSqlite } from '../../testing/index.ts';
import { type DiscoveryWorld, openDiscoveryWorld } from '../testing/world.ts';

describeSqlite('details of titles from the store', ({ fresh }) => {
  let world: DiscoveryWorld;
  const asked: string[] = [];
  let answer: (id: string, response: ServerResponse) => void;
  const server = createServer((request, response) => {
    const id = new URL(request.url ?? '/', 'http://store').searchParams.get('appids') ?? '';
    asked.push(id);
    answer(id, response);
  });
  const say = (id: string, data: object) => (response: ServerResponse) =>
    response.end(JSON.stringify({ [id]: { success: true, data } }));

  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(async () => {
    asked.length = 0;
    answer = (id, response) => say(id, { type: 'game', short_description: `About &amp; of ${id}` })(response);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const policy = { isAllowed: () => true, lookup: () => undefined, providerUrl: '' } as never;
    world = await openDiscoveryWorld(await fresh(), { overrides: { discovery: { store: { policy, url } } } });
    await world.addHome(world.app.people.alice, world.hostA);
  });
  afterEach(() => world.close());

  const lookup = (isOn: boolean) =>
    world.admin('PATCH', '/v1/admin/settings', { library_discovery_appdetails_enabled: isOn });
  const described = async () => {
    const rows = await world.app.plane.platform.database.db
      .selectFrom('apps')
      .select(['external_id', 'description'])
      .where('parent_app_id', 'is not', null)
      .orderBy('external_id')
      .execute();
    return rows.map(({ external_id, description }) => [external_id, description]);
  };

  test('are not asked for while the lookup is off', async () => {
    await world.scan(world.hostA, ['440']);
    expect(asked).toEqual([]);
    expect(await described()).toEqual([['440', '']]);
  });

  test('suppress titles that are no games, and describe games', async () => {
    await lookup(true);
    answer = (id, response) =>
      say(id, { type: id === '7' ? 'tool' : 'game', short_description: 'Fun &amp; &quot;games&quot;' })(
        response,
      );
    await world.scan(world.hostA, ['440', '7', '228980']);
    expect(asked.sort()).toEqual(['440', '7']);
    expect(await described()).toEqual([['440', 'Fun & "games"']]);
    const { body } = await world.admin('GET', `/v1/admin/apps/${world.providerId}/library/unpublished`);
    expect(body.items.map((each: { suppressed_by: string }) => each.suppressed_by).sort()).toEqual([
      'appdetails',
      'builtin_appid',
    ]);
    expect((await world.admin('GET', '/v1/admin/library/status')).body.recent_scans[0]).toMatchObject({
      suppressed: 2,
      backfilled: 1,
    });
  });

  test('disable a tile that turns out to be no game, and never change a text', async () => {
    await world.scan(world.hostA, ['440', '7', '8']);
    const tile = (await world.tiles()).find(({ external_id }) => external_id === '440');
    await world.admin('PATCH', `/v1/apps/${tile?.id}`, { description: 'My text' });
    await lookup(true);
    answer = (id, response) =>
      say(id, { type: id === '7' ? 'tool' : 'game', short_description: 'From the store' })(response);
    await world.scan(world.hostA, ['440', '7', '8']);
    expect(asked.sort()).toEqual(['7', '8']);
    expect(await described()).toEqual([
      ['440', 'My text'],
      ['7', ''],
      ['8', 'From the store'],
    ]);
    expect(await world.seenBy(world.app.people.alice)).toEqual(['Title 440', 'Title 8']);
  });

  test('are asked for at most forty times for a report, and remembered', async () => {
    await lookup(true);
    const titles = Array.from({ length: 50 }, (_, n) => String(n + 1));
    await world.scan(world.hostA, titles);
    expect(asked).toHaveLength(40);
    await world.scan(world.hostA, titles);
    expect(asked).toHaveLength(50);
    expect(new Set(asked).size).toBe(50);
  });

  test.each<[string, (id: string, response: ServerResponse) => void]>([
    ['answers 500', (_id, response) => response.writeHead(500).end()],
    ['answers nonsense', (_id, response) => response.end('<html>')],
    [
      'leads elsewhere',
      (_id, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    ],
    ['ends the connection', (_id, response) => response.destroy()],
    ['answers too much', (_id, response) => response.end('x'.repeat(2 * 1024 * 1024))],
  ])(
    'count as not asked for when the store %s, and a store that keeps failing is no longer asked',
    async (_what, broken) => {
      await lookup(true);
      answer = broken;
      await world.scan(world.hostA, ['1', '2', '3', '4', '5']);
      expect(asked).toHaveLength(3);
      expect(await world.seenBy(world.app.people.alice)).toHaveLength(5);
    },
  );
});

import type { Session } from '@footlight/protocol/rest';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addHost, addSession, describeDatabases, UNKNOWN_ID } from '../testing/index.ts';
import { openSessionsWorld, type SessionsWorld } from './testing/world.ts';

describeDatabases('lists of sessions', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  test("one's own sessions come newest first, in pages", async () => {
    await world.host('hosta');
    const app = await world.app();
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      ids.unshift((await world.launch(world.people.alice, app)).body.session.id);
      await world.clock.pass(1);
    }
    await world.launch(world.people.bob, app);
    const first = (await world.call(world.people.alice, 'GET', '/v1/sessions?limit=2')).body;
    expect(first.items.map((item: Session) => item.id)).toEqual(ids.slice(0, 2));
    const second = (
      await world.call(world.people.alice, 'GET', `/v1/sessions?limit=2&cursor=${first.next_cursor}`)
    ).body;
    expect(second.items.map((item: Session) => item.id)).toEqual(ids.slice(2));
    expect(second.next_cursor).toBeNull();
    expect((await world.call(world.people.alice, 'GET', '/v1/sessions?cursor=nope')).status).toBe(400);
  });

  test('sessions of one instant keep one order over pages', async () => {
    await world.host('hosta');
    const app = await world.app();
    for (const person of [world.people.alice, world.people.bob, world.people.admin])
      await world.launch(person, app);
    const all = (await world.list()).map((item) => item.id);
    const paged: string[] = [];
    let cursor = '';
    for (let page = 0; page < 3; page += 1) {
      const { body } = await world.call(world.people.admin, 'GET', `/v1/admin/sessions?limit=1${cursor}`);
      paged.push(body.items[0].id);
      cursor = `&cursor=${body.next_cursor}`;
    }
    expect(paged).toEqual(all);
  });

  test("an administrator's list has names, filters by state and is searched", async () => {
    const agent = await world.host('hosta');
    const wild = await world.app({ name: '100% Wild_Game' });
    const plain = await world.app({ name: 'Plain' });
    const active = await world.running(world.people.alice, wild);
    const ended = await world.running(world.people.bob, plain);
    await world.call(world.people.bob, 'DELETE', `/v1/sessions/${ended.id}`);
    await world.until(ended.id, 'stopped');
    const failed = await world.running(world.people.bob, plain);
    agent.reportState(failed.id, 'failed', { error: 'x', failure_code: 'app_crashed' });
    await world.until(failed.id, 'failed');

    expect((await world.list()).find((item) => item.id === active.id)).toMatchObject({
      username: 'alice',
      app_name: '100% Wild_Game',
      host_name: 'hosta',
      host_status: 'online',
      latest_metrics: {},
    });
    const ids = async (query: string) => (await world.list(query)).map((item) => item.id);
    expect(await ids('?state=active')).toEqual([active.id]);
    expect(await ids('?state=ended')).toEqual([ended.id]);
    expect(await ids('?state=failed')).toEqual([failed.id]);
    expect(await ids('?state=all')).toHaveLength(3);
    expect(await ids('?q=WILD_G')).toEqual([active.id]);
    expect(await ids('?q=100%25')).toEqual([active.id]);
    expect(await ids('?q=_')).toEqual([active.id]);
    expect(await ids('?q=bob')).toHaveLength(2);
    expect(await ids('?q=HOSTA')).toHaveLength(3);
    expect(await ids('?q=%20')).toHaveLength(3);
    expect(await ids(`?state=active&host_id=${active.host_id}`)).toEqual([active.id]);
    expect(await ids(`?host_id=${UNKNOWN_ID}`)).toEqual([]);
    const odd = await world.call(world.people.admin, 'GET', '/v1/admin/sessions?state=live');
    expect([odd.status, odd.body.error.code]).toEqual([400, 'invalid_state']);
    expect(odd.body.error.message).toMatch(/^state: expected all, active, ended, failed; it is "/);
    expect(
      (await world.call(world.people.admin, 'GET', `/v1/admin/sessions?q=${'x'.repeat(101)}`)).status,
    ).toBe(400);
    expect((await world.call(world.people.alice, 'GET', '/v1/admin/sessions')).status).toBe(403);
  });

  test("an administrator's list is sorted before it is paged, and counted", async () => {
    const { people, clock } = world;
    const hosts = new Map<string | undefined, string>();
    for (const name of ['rack-10', 'rack-2']) hosts.set(name, await addHost(world, name));
    const apps = new Map<string, string>();
    for (const name of ['Chess 10', 'chess 2', 'Draughts']) apps.set(name, await world.app({ name }));
    const labels = new Map<string, string>();
    const add = async (
      label: string,
      app: string,
      userId: string,
      host: string | undefined,
      state: 'running' | 'pending' | 'stopped' | 'failed',
    ) => {
      const hostId = hosts.get(host);
      const appId = apps.get(app) ?? '';
      labels.set(await addSession(world, { appId, userId, state, ...(hostId && { hostId }) }), label);
      await clock.pass(1);
    };
    const [alice, bob] = [people.alice.id, people.bob.id];
    await add('a', 'Chess 10', bob, 'rack-2', 'running');
    await add('b', 'Draughts', alice, undefined, 'pending');
    await add('c', 'chess 2', bob, 'rack-10', 'stopped');
    await add('d', 'Chess 10', alice, 'rack-10', 'failed');
    await add('e', 'Draughts', alice, undefined, 'stopped');
    const { db } = world.plane.platform.database;
    for (const [id, label] of labels)
      await db
        .updateTable('sessions')
        .set({ stream_width: label === 'c' ? 640 : 1280 })
        .where('id', '=', id)
        .execute();

    const read = async (query: string) =>
      (await world.call(people.admin, 'GET', `/v1/admin/sessions?${query}`)).body as {
        items: Session[];
        next_cursor: string | null;
        total?: number;
      };
    const found = async (query: string) => {
      const items: Session[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const page = await read(`limit=2&${query}${cursor === '' ? '' : `&cursor=${cursor}`}`);
        items.push(...page.items);
        cursor = page.next_cursor;
      }
      return items.map(({ id }) => labels.get(id)).join('');
    };
    expect(await found('')).toBe('edcba');
    expect(await found('sort=-created')).toBe('edcba');
    expect(await found('sort=created')).toBe('abcde');
    // Equal values are newest first, and sessions without a host last, in both directions.
    expect(await found('sort=app')).toBe('cdaeb');
    expect(await found('sort=-app')).toBe('ebdac');
    expect(await found('sort=user')).toBe('edbca');
    expect(await found('sort=-user')).toBe('caedb');
    expect(await found('sort=host')).toBe('adceb');
    expect(await found('sort=-host')).toBe('dcaeb');
    expect(await found('sort=state')).toBe('dbaec');
    expect(await found('sort=-state')).toBe('ecabd');
    expect(await found('sort=picture')).toBe('cedba');
    expect(await found('sort=-picture')).toBe('edbac');
    expect(await found('sort=app&state=ended')).toBe('ce');
    expect(await found('sort=-host&q=CHESS')).toBe('dca');
    expect(await found(`sort=app&host_id=${hosts.get('rack-10')}`)).toBe('cd');

    expect((await read('limit=1')).total).toBeUndefined();
    expect((await read('limit=1&count=false')).total).toBeUndefined();
    for (const [query, total] of [
      ['', 5],
      ['&sort=-app', 5],
      ['&state=active', 2],
      ['&state=ended', 2],
      ['&state=failed', 1],
      ['&q=chess', 3],
      ['&q=nothing', 0],
      [`&host_id=${hosts.get('rack-10')}&state=ended`, 1],
    ] as const)
      expect((await read(`limit=1&count=true${query}`)).total, query).toBe(total);

    const { next_cursor } = await read('limit=1&sort=app');
    for (const query of [
      'sort=age',
      'count=maybe',
      'sort=app&cursor=nope',
      `sort=user&cursor=${next_cursor}`,
    ])
      expect((await world.call(people.admin, 'GET', `/v1/admin/sessions?${query}`)).status, query).toBe(400);
  });

  test('a session that starts between two requests moves no other session to the next page', async () => {
    const appId = await world.app({ name: 'Chess' });
    const add = async (state: 'pending' | 'stopped') => {
      const id = await addSession(world, { appId, userId: world.people.alice.id, state });
      await world.clock.pass(1);
      return id;
    };
    const ids = [await add('stopped'), await add('stopped'), await add('pending')];
    const page = (query: string) =>
      world.call(world.people.admin, 'GET', `/v1/admin/sessions?sort=state&limit=2${query}`);
    const { body } = await page('');
    expect(body.items.map((item: Session) => item.id)).toEqual([ids[2], ids[1]]);
    await add('pending');
    const next = await page(`&cursor=${body.next_cursor}`);
    expect(next.body.items.map((item: Session) => item.id)).toEqual([ids[0]]);
  });
});

import type { Session } from '@footlight/protocol/rest';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeDatabases, UNKNOWN_ID } from '../testing/index.ts';
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
});

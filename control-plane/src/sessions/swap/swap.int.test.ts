import { randomUUID } from 'node:crypto';
import type { Session } from '@footlight/protocol/rest';
import { type FakeAgent, honest } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { Agents } from '../../fleet/agents.ts';
import { type Answer, describeDatabases, type Person } from '../../testing/index.ts';
import { beforeTransactionOf } from '../testing/before-transaction.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

describeDatabases('changing the app of a running session', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  let alice: Person;
  let admin: Person;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    ({ alice, admin } = world.people);
    agent = await world.host('hosta');
  });
  afterEach(async () => {
    Object.assign(agent.behaviour, honest);
    if (!agent.isOpen) await world.reconnect(agent);
    for (const { id } of await world.list('?state=active')) {
      await world.call(admin, 'DELETE', `/v1/sessions/${id}`);
      await world.until(id, 'stopped');
    }
    expect(await world.slotsUsed(agent)).toBe(0);
  });
  afterAll(() => world.close());

  const swap = (as: Person, id: string, appId: string): Promise<Answer> =>
    world.call(as, 'POST', `/v1/sessions/${id}/swap`, { body: { app_id: appId } });
  const refusal = ({ status, body }: Answer) => [status, body.error?.code];
  const shows = (id: string, detail: string): Promise<Session> =>
    eventually(detail, async () => {
      const session = await world.session(id);
      return session.state_detail === detail ? session : undefined;
    });
  const swaps = (id: string) =>
    agent.commands.filter((command) => command.type === 'session_swap_app' && command.session_id === id);
  const asked = (id: string, count = 1) =>
    eventually('session_swap_app was sent', () => (swaps(id).length >= count ? true : undefined));

  describe('how it goes', () => {
    test('200 running and "swapping" with the old app; the host gets the new one; then it is "swap complete"', async () => {
      agent.behaviour.swap = null;
      const [before, after] = [await world.app(), await world.app({ runtime_spec: { args: ['other'] } })];
      const session = await world.running(alice, before);
      const answer = await swap(alice, session.id, after);
      expect([answer.status, answer.body.session]).toMatchObject([
        200,
        { state: 'running', state_detail: 'swapping', app_id: before },
      ]);
      await asked(session.id);
      expect(swaps(session.id)).toMatchObject([{ app_id: after, app: { args: ['other'] } }]);
      agent.endSwap(session.id, after, 'complete');
      const done = await shows(session.id, 'swap complete');
      expect(done).toEqual({ ...done, app_id: after, state: 'running', stream: session.stream });
      expect(await world.slotsUsed(agent)).toBe(1);
    });

    test('the host refuses: "swap rejected", the old app goes on', async () => {
      const [before, after] = [await world.app(), await world.app()];
      const session = await world.running(alice, before);
      agent.behaviour.answer = ({ type }) => (type === 'session_swap_app' ? { code: 'policy' } : 'ok');
      expect((await swap(alice, session.id, after)).status).toBe(200);
      expect(await shows(session.id, 'swap rejected')).toMatchObject({ state: 'running', app_id: before });
    });

    test('no ack within 10 s: "swap rejected"; a later completion by the host is accepted', async () => {
      const [before, after] = [await world.app(), await world.app()];
      const session = await world.running(alice, before);
      agent.behaviour.answer = ({ type }) => (type === 'session_swap_app' ? 'silence' : 'ok');
      await swap(alice, session.id, after);
      await asked(session.id);
      await world.pass(10_000, agent);
      expect(await shows(session.id, 'swap rejected')).toMatchObject({ app_id: before });
      agent.endSwap(session.id, after, 'complete');
      expect(await shows(session.id, 'swap complete')).toMatchObject({ app_id: after });
    });

    test('a host without the feature is not asked: "swap rejected" at once', async () => {
      const plain = await world.host('hostb', { features: ['process_runtime'] });
      await agent.drop();
      // Wait; otherwise the launch may still be placed on this host.
      await world.offline(agent);
      const [before, after] = [await world.app(), await world.app()];
      const session = await world.running(alice, before);
      await swap(alice, session.id, after);
      await shows(session.id, 'swap rejected');
      expect(plain.commands.some(({ type }) => type === 'session_swap_app')).toBe(false);
      await world.call(alice, 'DELETE', `/v1/sessions/${session.id}`);
      await world.until(session.id, 'stopped');
      await plain.drop();
    });

    test('the replica with the link does not answer: "swap rejected", the old app goes on', async () => {
      const [before, after] = [await world.app(), await world.app()];
      const session = await world.running(alice, before);
      const link = vi.spyOn(Agents.prototype, 'link').mockRejectedValueOnce(new Error('no answer'));
      await swap(alice, session.id, after);
      expect(await shows(session.id, 'swap rejected')).toMatchObject({ state: 'running', app_id: before });
      expect(swaps(session.id)).toEqual([]);
      link.mockRestore();
    });

    test('rolled back: the old app is kept, and the text says why', async () => {
      const [before, after] = [await world.app(), await world.app()];
      const session = await world.running(alice, before);
      agent.behaviour.swap = { rolled_back: 'the app drew nothing' };
      await swap(alice, session.id, after);
      expect(await shows(session.id, 'swap rolled back: the app drew nothing')).toMatchObject({
        state: 'running',
        app_id: before,
      });
      agent.behaviour.swap = 'complete';
      await swap(alice, session.id, after);
      await shows(session.id, 'swap complete');
    });

    test('neither app could be kept: failed, and everything is given back', async () => {
      agent.behaviour.swap = null;
      const session = await world.running(alice, await world.app());
      await swap(alice, session.id, await world.app());
      await asked(session.id);
      agent.reportState(session.id, 'failed', { failure_code: 'app_crashed', error: 'it ended' });
      expect(await world.until(session.id, 'failed')).toMatchObject({ failure_code: 'app_crashed' });
      expect(await world.slotsUsed(agent)).toBe(0);
    });

    test('a stop ends it; later reports about it change nothing', async () => {
      agent.behaviour.swap = null;
      const [before, after] = [await world.app(), await world.app()];
      const session = await world.running(alice, before);
      await swap(alice, session.id, after);
      await asked(session.id);
      agent.behaviour.answer = ({ type }) => (type === 'session_stop' ? 'silence' : 'ok');
      expect((await world.call(alice, 'DELETE', `/v1/sessions/${session.id}`)).status).toBe(202);
      agent.endSwap(session.id, after, 'complete');
      agent.reportState(session.id, 'stopped', { reason: 'user_requested' });
      expect(await world.until(session.id, 'stopped')).toMatchObject({ app_id: before });
    });

    test('a report of an unrequested end changes nothing', async () => {
      const [before, after] = [await world.app(), await world.app()];
      const session = await world.running(alice, before);
      agent.endSwap(session.id, after, 'complete');
      agent.reportState(session.id, 'running', { detail: 'said afterwards' });
      expect(await shows(session.id, 'said afterwards')).toMatchObject({ app_id: before });
    });

    test('an administrator changes it for the owner; the entitlement of the owner counts', async () => {
      const [before, after, foreign] = [
        await world.app(),
        await world.app(),
        await world.app({ entitle: 'none' }),
      ];
      const session = await world.running(alice, before);
      expect(refusal(await swap(admin, session.id, foreign))).toEqual([403, 'forbidden']);
      expect((await swap(admin, session.id, after)).status).toBe(200);
      await shows(session.id, 'swap complete');
    });

    test('a change of app under way holds its app: neither can be deleted', async () => {
      agent.behaviour.swap = null;
      const after = await world.app();
      const session = await world.running(alice, await world.app());
      await swap(alice, session.id, after);
      expect((await world.call(admin, 'DELETE', `/v1/apps/${after}`)).status).toBe(409);
      await asked(session.id);
      agent.endSwap(session.id, after, 'complete');
      await shows(session.id, 'swap complete');
    });
  });

  describe('the link breaks', () => {
    test.each([
      ['with the new app: it is complete', true, 'after'],
      ['with the old one: rejected', false, 'before'],
    ] as const)('before the ack, and the host comes back %s', async (_what, changed, expected) => {
      const apps = { before: await world.app(), after: await world.app() };
      const session = await world.running(alice, apps.before);
      agent.behaviour.answer = ({ type }) => (type === 'session_swap_app' ? 'silence' : 'ok');
      await swap(alice, session.id, apps.after);
      await asked(session.id);
      await agent.drop();
      await world.offline(agent);
      const held = agent.sessions.get(session.id);
      if (changed && held !== undefined) held.app_id = apps.after;
      await world.reconnect(agent);
      await shows(session.id, 'host_reconnected');
      expect(await world.session(session.id)).toMatchObject({ app_id: apps[expected], state: 'running' });
      // In both cases the swap has ended, and another one can be requested.
      Object.assign(agent.behaviour, honest);
      expect((await swap(alice, session.id, apps.after)).status).toBe(200);
      await shows(session.id, 'swap complete');
    });

    test('after the ack: it goes on, and its report counts', async () => {
      agent.behaviour.swap = null;
      const [before, after] = [await world.app(), await world.app()];
      const session = await world.running(alice, before);
      await swap(alice, session.id, after);
      await eventually('the ack was noted', async () => {
        const row = await world.plane.platform.database.db
          .selectFrom('sessions')
          .select('swap_state')
          .where('id', '=', session.id)
          .executeTakeFirst();
        return row?.swap_state === 'taken' ? true : undefined;
      });
      await agent.drop();
      await world.offline(agent);
      await world.reconnect(agent);
      expect(refusal(await swap(alice, session.id, after))).toEqual([409, 'session_not_swappable']);
      agent.endSwap(session.id, after, 'complete');
      expect(await shows(session.id, 'swap complete')).toMatchObject({ app_id: after });
    });
  });

  describe('is refused in this order', () => {
    test('a session that does not run is refused before the app is looked up', async () => {
      agent.behaviour.launch = [{ state: 'starting', detail: 'starting display' }];
      const { body } = await world.launch(alice, await world.app());
      await world.until(body.session.id, 'starting');
      expect(refusal(await swap(alice, body.session.id, randomUUID()))).toEqual([
        409,
        'session_not_swappable',
      ]);
    });

    test('a session that is already swapping is refused', async () => {
      agent.behaviour.swap = null;
      const after = await world.app();
      const session = await world.running(alice, await world.app());
      await swap(alice, session.id, after);
      expect(refusal(await swap(alice, session.id, randomUUID()))).toEqual([409, 'session_not_swappable']);
    });

    test('an unknown or disabled app is 404, before its parent is looked at', async () => {
      const session = await world.running(alice, await world.app());
      const parent = await world.app({ enabled: false });
      for (const app of [randomUUID(), await world.tile(parent, { enabled: false })])
        expect(refusal(await swap(alice, session.id, app))).toEqual([404, 'not_found']);
    });

    test('a tile whose parent is disabled is 409, before the entitlement', async () => {
      const session = await world.running(alice, await world.app());
      const app = await world.tile(await world.app({ enabled: false }), { entitle: 'none' });
      expect(refusal(await swap(alice, session.id, app))).toEqual([409, 'parent_app_disabled']);
    });

    test('an owner who is not entitled is 403, before the slots', async () => {
      const session = await world.running(alice, await world.app());
      const app = await world.app({ entitle: 'none', default_encode_slots: 3 });
      expect(refusal(await swap(alice, session.id, app))).toEqual([403, 'forbidden']);
    });

    test('a revocation between the request and the commit wins', async () => {
      const session = await world.running(alice, await world.app());
      const app = await world.app();
      const entitlements = `/v1/admin/apps/${app}/entitlements`;
      const [row] = (await world.call(admin, 'GET', entitlements)).body.items;
      const answer = await beforeTransactionOf(
        world.planes,
        () => swap(alice, session.id, app),
        async () => {
          expect((await world.call(admin, 'DELETE', `${entitlements}/${row.id}`)).status).toBe(204);
        },
      );
      expect(refusal(answer)).toEqual([403, 'forbidden']);
      expect(swaps(session.id)).toEqual([]);
    });

    test('more slots than it has reserved is 409, before the home', async () => {
      const home = { managed_home: true, default_encode_slots: 2 };
      const app = await world.app(home);
      const session = await world.running(alice, await world.app());
      const holder = await world.running(alice, app);
      expect(refusal(await swap(alice, session.id, app))).toEqual([409, 'swap_exceeds_reservation']);
      expect(refusal(await swap(alice, holder.id, app))).toEqual([200, undefined]);
    });

    test('the slots of a tile are those of its parent', async () => {
      const app = await world.tile(await world.app({ default_encode_slots: 2 }), { default_encode_slots: 1 });
      const session = await world.running(alice, await world.app());
      expect(refusal(await swap(alice, session.id, app))).toEqual([409, 'swap_exceeds_reservation']);
    });

    test('a home that another session of the owner holds is 409 with its id; its own home is allowed', async () => {
      const app = await world.app({ managed_home: true });
      const session = await world.running(alice, await world.app());
      const holder = await world.running(alice, app);
      const answer = await swap(alice, session.id, app);
      expect(answer.body.error).toMatchObject({ code: 'home_in_use', session_id: holder.id });
      expect((await swap(alice, holder.id, app)).status).toBe(200);
      await shows(holder.id, 'swap complete');
    });

    test('the home is held from the request on: a launch of its app is 409', async () => {
      agent.behaviour.swap = null;
      const app = await world.app({ managed_home: true });
      const session = await world.running(alice, await world.app());
      expect((await swap(alice, session.id, app)).status).toBe(200);
      const launch = await world.launch(alice, app);
      expect(launch.body.error).toMatchObject({ code: 'home_in_use', session_id: session.id });
      await asked(session.id);
      expect(swaps(session.id)).toMatchObject([{ app: { home: { provider: 'local' } } }]);
      agent.endSwap(session.id, app, { rolled_back: 'no' });
      await shows(session.id, 'swap rolled back: no');
      const again = await world.launch(alice, app);
      expect(again.status).toBe(201);
      await world.until(again.body.session.id, 'running');
    });

    test('after it the new home is held, and the old one is free', async () => {
      const [before, after] = [
        await world.app({ managed_home: true }),
        await world.app({ managed_home: true }),
      ];
      const session = await world.running(alice, before);
      await swap(alice, session.id, after);
      await shows(session.id, 'swap complete');
      expect((await world.launch(alice, after)).body.error).toMatchObject({ session_id: session.id });
      await world.running(alice, before);
    });

    test('a tile whose parent has no home on this host is 409', async () => {
      const parent = await world.app({ managed_home: true });
      const session = await world.running(alice, await world.app());
      const app = await world.tile(parent);
      expect(refusal(await swap(alice, session.id, app))).toEqual([409, 'home_not_provisioned']);
      await swap(alice, session.id, parent);
      await shows(session.id, 'swap complete');
      expect((await swap(alice, session.id, app)).status).toBe(200);
      expect(await shows(session.id, 'swap complete')).toMatchObject({ app_id: app });
    });
  });
});

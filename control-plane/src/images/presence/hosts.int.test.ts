import { SECOND_MS } from '@footlight/platform';
import type { CatalogImage } from '@footlight/protocol/rest';
import type { FakeAgent } from '@footlight/test-harness';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually, openSessionsWorld, type SessionsWorld } from '../../sessions/testing/world.ts';
import { describeDatabases } from '../../testing/index.ts';
import { type FakeRegistry, startFakeRegistry } from '../testing/fake-registry.ts';

const READY = { state: 'ready', bytes: 1_000_000, error: null, progress_pct: null } as const;

describeDatabases('images on hosts', (databases) => {
  let registry: FakeRegistry;
  let world: SessionsWorld;
  beforeAll(async () => {
    registry = await startFakeRegistry();
    world = await openSessionsWorld(await databases.fresh(), undefined, registry.env);
  });
  afterAll(async () => {
    await world.close();
    await registry.close();
  });

  /** Each test has its own image, so that hosts of other tests do not matter. */
  let serial = 0;
  let id: string;
  beforeEach(() => {
    serial += 1;
    id = `image-${serial}`;
  });
  let agents: FakeAgent[] = [];
  beforeEach(async () => {
    await Promise.all(agents.map((agent) => agent.drop()));
    for (const agent of agents) await world.offline(agent);
    agents = [];
    for (const { image_id } of await world.plane.platform.database.db
      .selectFrom('installed_images')
      .select('image_id')
      .execute())
      await world.call(world.people.admin, 'DELETE', `/v1/admin/images/${image_id}/install`);
  });
  async function host(options: Parameters<SessionsWorld['host']>[1] = {}): Promise<FakeAgent> {
    const agent = await world.host(`${id}-host-${agents.length}`, options);
    agents.push(agent);
    return agent;
  }

  const call = (method: string, path: string, body?: unknown) =>
    world.call(world.people.admin, method, `/v1/admin/images${path}`, body === undefined ? {} : { body });
  async function offer(version: string, more: object = {}): Promise<string> {
    const digest = registry.publish(`example/${id}`, version);
    const registry_ref = `${registry.host}/example/${id}:${version}`;
    registry.images = [
      ...registry.images.filter((image) => image.id !== id),
      { id, display_name: id, kind: 'prebuilt', version, registry_ref, ...more },
    ];
    const { body } = await call('POST', '/sync');
    expect(body.sync_error).toBeNull();
    return `${registry.host}/example/${id}@${digest}`;
  }
  const install = async (lazy = false) => {
    const answer = await call('POST', `/${id}/install`, { lazy });
    expect(answer.status, answer.text).toBe(201);
  };
  const image = async (): Promise<CatalogImage> => {
    const { body } = await call('GET', '');
    return body.images.find((one: CatalogImage) => one.id === id);
  };
  const onHost = async (agent: FakeAgent) =>
    (await image()).hosts.find(({ host_id }) => host_id === agent.hostId);
  const shows = (agent: FakeAgent, wanted: object) =>
    eventually(`${agent.options.nodeName} shows ${JSON.stringify(wanted)}`, async () => {
      const shown = await onHost(agent);
      try {
        expect(shown).toMatchObject(wanted);
        return shown;
      } catch {
        return undefined;
      }
    });
  const orders = (agent: FakeAgent) => agent.commands.filter((command) => command.type.startsWith('image_'));
  const ordered = (agent: FakeAgent, count: number) =>
    eventually(`${count} orders`, () => (orders(agent).length >= count ? orders(agent) : undefined));

  test('an installation reaches every connected host, by its digest, with progress up to ready', async () => {
    const agent = await host({ behaviour: { pull: [{ state: 'pulling', progress_pct: 45 }] } });
    const other = await host();
    const registry_ref = await offer('1');
    expect(await onHost(agent)).toMatchObject({ state: 'absent', version: null, bytes: null });
    await install();
    await shows(agent, { state: 'pulling', version: '1', progress_pct: 45 });
    await shows(other, { ...READY, version: '1' });
    agent.reportImage(id, '1', { state: 'ready', bytes: 1_000_000 });
    await shows(agent, { ...READY, version: '1' });
    for (const one of [agent, other])
      expect(orders(one)).toMatchObject([{ type: 'image_ensure', image_id: id, version: '1', registry_ref }]);
  });

  test('a report is confirmed once it is stored, and a repeat of it changes nothing', async () => {
    const agent = await host({ behaviour: { duplicate: true } });
    await offer('1');
    await install();
    await shows(agent, { ...READY, version: '1' });
    await eventually('everything is confirmed', () => (agent.unseen === 0 ? true : undefined));
  });

  test('a host that comes later, or comes back without the image, is asked', async () => {
    await offer('1');
    await install();
    const agent = await host();
    await shows(agent, { ...READY, version: '1' });
    await agent.drop();
    await world.offline(agent);
    agent.images.clear();
    agent.options.register = { images: [] };
    agent.behaviour.pull = [];
    await world.reconnect(agent);
    await shows(agent, { state: 'absent', version: null, bytes: null });
    await ordered(agent, 2);
    agent.reportImage(id, '1', { state: 'ready', bytes: 1_000_000 });
    await shows(agent, { ...READY, version: '1' });
  });

  test('a host that has it is not asked again when it comes back', async () => {
    const agent = await host();
    await offer('1');
    await install();
    await shows(agent, READY);
    await agent.drop();
    await world.offline(agent);
    await world.reconnect(agent);
    await agent.heard();
    expect(orders(agent)).toHaveLength(1);
    expect(await onHost(agent)).toMatchObject(READY);
  });

  test('reports about images that are not installed are dropped', async () => {
    const agent = await host();
    await offer('1');
    agent.reportImage(id, '1', { state: 'ready', bytes: 5 });
    await eventually('it is confirmed', () => (agent.unseen === 0 ? true : undefined));
    expect(await onHost(agent)).toMatchObject({ state: 'absent', bytes: null });
  });

  test('an update asks for the new version; a host that keeps the old one shows it', async () => {
    const agent = await host();
    await offer('1');
    await install();
    await shows(agent, { version: '1', state: 'ready' });
    agent.behaviour.pull = [];
    const registry_ref = await offer('2');
    await call('POST', `/${id}/update`);
    expect((await ordered(agent, 2))[1]).toMatchObject({ type: 'image_ensure', version: '2', registry_ref });
    expect(await onHost(agent)).toMatchObject({ version: '1', state: 'ready' });
    agent.reportImage(id, '2', { state: 'ready', bytes: 7 });
    await shows(agent, { version: '2', state: 'ready', bytes: 7 });
  });

  test('the removal of an image tells the hosts and forgets what they reported', async () => {
    const agent = await host();
    await offer('1');
    await install();
    await shows(agent, READY);
    await call('DELETE', `/${id}/install`);
    expect((await ordered(agent, 2))[1]).toMatchObject({ type: 'image_remove', image_id: id });
    expect(await onHost(agent)).toMatchObject({ state: 'absent', version: null, bytes: null });
  });

  describe('a host that does not accept it', () => {
    test.each([
      [
        'refuses',
        'refused',
        (agent: FakeAgent) => {
          agent.behaviour.answer = () => ({ code: 'busy', error: 'no time' });
        },
        'The host refused (busy): no time',
      ],
      [
        'does not answer',
        'silent',
        (agent: FakeAgent) => {
          agent.behaviour.answer = () => 'silence';
        },
        'The host did not answer.',
      ],
    ] as const)(
      'and %s is asked three times more, after 30, 60 and 120 s, and then shows why',
      async (_how, kind, breaks, why) => {
        const agent = await host();
        breaks(agent);
        await offer('1');
        await install();
        await ordered(agent, 1);
        // The wait begins when the answer is handled.
        await agent.heard();
        const waits = [30, 60, 120];
        for (const [n, secs] of waits.entries()) {
          if (kind === 'silent') await world.pass(15 * SECOND_MS, agent);
          await world.pass((secs - 1) * SECOND_MS, agent);
          expect(orders(agent)).toHaveLength(n + 1);
          await world.pass(SECOND_MS, agent);
          await ordered(agent, n + 2);
          await agent.heard();
        }
        if (kind === 'silent') await world.pass(15 * SECOND_MS, agent);
        await shows(agent, { state: 'failed', version: '1', error: why });
        await world.pass(300 * SECOND_MS, agent);
        expect(orders(agent)).toHaveLength(4);
      },
    );

    test('and reports a failure shows it at once, and is asked again', async () => {
      const agent = await host({ behaviour: { pull: [{ state: 'failed', error: 'The disk is full.' }] } });
      await offer('1');
      await install();
      await shows(agent, { state: 'failed', error: 'The disk is full.' });
      await agent.heard();
      agent.behaviour.pull = [{ state: 'ready', bytes: 5 }];
      await world.pass(30 * SECOND_MS, agent);
      await shows(agent, { state: 'ready', error: null, bytes: 5 });
    });

    test('is asked again by the next synchronisation', async () => {
      const agent = await host({ behaviour: { answer: () => ({ code: 'busy' }) } });
      await offer('1');
      await install();
      for (const [n, secs] of [30, 60, 120].entries()) {
        await ordered(agent, n + 1);
        await agent.heard();
        await world.pass(secs * SECOND_MS, agent);
      }
      await shows(agent, { state: 'failed' });
      agent.behaviour.answer = () => 'ok';
      await call('POST', '/sync');
      await shows(agent, READY);
    });
  });

  test('a host warms up after an image is there, and when a new agent process has nothing to fetch', async () => {
    const runs = async (agent: FakeAgent) =>
      (
        await world.call(
          world.people.admin,
          'GET',
          `/v1/admin/jobs/template.warmup/runs?host_id=${agent.hostId}`,
        )
      ).body.items.map(({ state, trigger }: { state: string; trigger: string }) => [state, trigger]);
    const agent = await host({ behaviour: { pull: [] } });
    await offer('1');
    await install();
    await ordered(agent, 1);
    expect(await runs(agent)).toEqual([]);
    agent.reportImage(id, '1', { state: 'ready', bytes: 5 });
    await shows(agent, { state: 'ready' });
    expect(await runs(agent)).toEqual([['pending', 'event']]);
    const { db } = world.plane.platform.database;
    await db.deleteFrom('job_runs').where('host_id', '=', agent.hostId).execute();
    // Repeat the report and reconnect the same agent process.
    agent.reportImage(id, '1', { state: 'ready', bytes: 5 });
    await agent.drop();
    await world.offline(agent);
    await world.reconnect(agent);
    expect(await runs(agent)).toEqual([]);
    await agent.crash();
    await world.offline(agent);
    await world.reconnect(agent);
    expect(await runs(agent)).toEqual([['pending', 'event']]);
  });

  test('an agent that runs no images is never asked', async () => {
    const agent = await host({ features: ['process_runtime'] });
    await offer('1');
    await install();
    await call('POST', '/sync');
    await agent.heard();
    expect(orders(agent)).toEqual([]);
    expect(await onHost(agent)).toMatchObject({ state: 'absent' });
  });

  test('a template is built on hosts that can, from the commit of its version', async () => {
    const agent = await host({ behaviour: { pull: [{ state: 'building', progress_pct: 5 }] } });
    const puller = await host({ features: ['images'] });
    const build = {
      context_url: `https://github.com/example/images/archive/${'a'.repeat(40)}.tar.gz`,
      context_subdir: 'images/desk',
      dockerfile: 'Containerfile',
      build_args: { A: '1' },
    };
    registry.images.push({
      id,
      display_name: id,
      kind: 'template',
      version: '3',
      dockerfile: 'Containerfile',
    });
    await call('POST', '/sync');
    const { db } = world.plane.platform.database;
    await db
      .updateTable('catalog_images')
      .set({ build: JSON.stringify(build) })
      .where('id', '=', id)
      .execute();
    await install();
    expect(await ordered(agent, 1)).toMatchObject([
      { type: 'image_build', image_id: id, version: '3', local_tag: `service-local/${id}:3`, ...build },
    ]);
    await shows(agent, { state: 'building', progress_pct: 5 });
    expect(orders(puller)).toEqual([]);
  });

  describe('a launch', () => {
    const appOf = async (): Promise<string> => {
      const { runtime_preset_id } = await image();
      return world.app({ runtime_preset_id, runtime_spec: {} });
    };
    const refusedFor = async (app: string): Promise<string> => {
      const { status, body } = await world.launch(world.people.alice, app);
      expect([status, body.error?.code]).toEqual([503, 'no_host_available']);
      return (body.error as unknown as { message: string }).message;
    };

    test('waits for a host that has the installed version; the refusal and the preview say so', async () => {
      const agent = await host({ behaviour: { pull: [] } });
      const registry_ref = await offer('1', { runtime: { args: ['retro'] } });
      await install();
      const app = await appOf();
      expect(await refusedFor(app)).toContain('No host has the image');
      const preview = await world.call(world.people.admin, 'POST', '/v1/admin/placement/preview', {
        body: { app_id: app, user_id: world.people.alice.id },
      });
      const refusals = preview.body.refusals.filter(
        (refusal: { host_id: string }) => refusal.host_id === agent.hostId,
      );
      expect(refusals).toMatchObject([{ rule: 'image', have: 'absent', need: 'ready' }]);
      agent.reportImage(id, '0', { state: 'ready' });
      await shows(agent, { state: 'ready', version: '0' });
      await refusedFor(app);
      agent.reportImage(id, '1', { state: 'ready' });
      await shows(agent, { state: 'ready', version: '1' });
      const { id: session } = await world.running(world.people.alice, app);
      expect(agent.commands.find(({ type }) => type === 'session_assign')).toMatchObject({
        app: { image: registry_ref, args: ['retro'] },
      });
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session}`);
      await world.until(session, 'stopped');
    });

    test('of a lazily installed image goes to any host, which is asked for it then', async () => {
      const agent = await host();
      await offer('1', { runtime: {} });
      await install(true);
      await agent.heard();
      expect(orders(agent)).toEqual([]);
      const { id: session } = await world.running(world.people.alice, await appOf());
      expect(await ordered(agent, 1)).toMatchObject([{ type: 'image_ensure', image_id: id, version: '1' }]);
      await shows(agent, READY);
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session}`);
      await world.until(session, 'stopped');
    });

    test('of an app that names an image of its own is not held up', async () => {
      await host({ behaviour: { pull: [] } });
      await offer('1', { runtime: {} });
      await install();
      const { runtime_preset_id } = await image();
      const app = await world.app({
        runtime_preset_id,
        runtime_spec: { image: `ghcr.io/example/own@sha256:${'0'.repeat(64)}` },
      });
      const { id: session } = await world.running(world.people.alice, app);
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session}`);
      await world.until(session, 'stopped');
    });

    test('that the host refuses for its image fails with image_missing', async () => {
      const agent = await host();
      agent.behaviour.answer = ({ type }) =>
        type === 'session_assign' ? { code: 'image_missing', error: 'pin it by digest' } : 'ok';
      const app = await world.app({ runtime_spec: { image: 'ghcr.io/example/own:latest' } });
      const { body } = await world.launch(world.people.alice, app);
      const failed = await world.until(body.session.id, 'failed');
      expect(failed).toMatchObject({ failure_code: 'image_missing' });
      expect(failed.error_message).toContain('pin it by digest');
    });
  });
});

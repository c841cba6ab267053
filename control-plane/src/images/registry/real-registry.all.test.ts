import type { CatalogImage } from '@footlight/protocol/rest';
import type { FakeAgent } from '@footlight/test-harness';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, openSessionsWorld, type SessionsWorld } from '../../sessions/testing/world.ts';
import { describeDatabases } from '../../testing/index.ts';
import { type DebianRegistry, startDebianRegistry } from '../testing/debian-registry.ts';
import { type FakeRegistry, startFakeRegistry } from '../testing/fake-registry.ts';

describeDatabases('an image of a real registry', (databases) => {
  let catalog: FakeRegistry;
  let registry: DebianRegistry;
  let world: SessionsWorld;
  let agent: FakeAgent;
  /** Progress that the host reported, in percent. */
  const progress: number[] = [];
  beforeAll(async () => {
    [catalog, registry] = await Promise.all([startFakeRegistry(), startDebianRegistry()]);
    world = await openSessionsWorld(await databases.fresh(), undefined, {
      ...catalog.env,
      SERVICE_IMAGE_REGISTRY_HOSTS: `http://${registry.name}`,
    });
    agent = await world.host('hosta', { behaviour: { pull: [] } });
    agent.behaviour.answer = (command) => {
      if (command.type === 'image_ensure') void pull(command);
      return 'ok';
    };
  });
  afterAll(async () => {
    await world.close();
    await registry.stop();
    await catalog.close();
  });

  /** Acts like an agent without a container engine: fetches all parts of an image by their digests. */
  async function pull({
    image_id,
    version,
    registry_ref,
  }: {
    image_id: string;
    version: string;
    registry_ref: string;
  }) {
    try {
      const bytes = await registry.pull(registry_ref, (progress_pct) => {
        progress.push(progress_pct);
        agent.reportImage(image_id, version, { state: 'pulling', progress_pct });
      });
      agent.reportImage(image_id, version, { state: 'ready', bytes });
    } catch (error) {
      agent.reportImage(image_id, version, { state: 'failed', error: String(error).slice(0, 300) });
    }
  }
  const call = (method: string, path: string, body?: unknown) =>
    world.call(world.people.admin, method, `/v1/admin/images${path}`, body === undefined ? {} : { body });
  const image = async (): Promise<CatalogImage> => (await call('GET', '')).body.images[0];
  const until = (wanted: object) =>
    eventually(`the host shows ${JSON.stringify(wanted)}`, async () => {
      const shown = (await image()).hosts[0];
      return Object.entries(wanted).every(([key, value]) => shown?.[key as 'state'] === value)
        ? shown
        : undefined;
    });
  /** Pushes a version and adds it to the catalog. @returns its name with digest */
  async function release(version: string): Promise<string> {
    const digest = await registry.push('example/retro', version, `content of ${version}`);
    catalog.images = [
      {
        id: 'retro',
        display_name: 'Retro games',
        kind: 'prebuilt',
        version,
        registry_ref: `${registry.name}/example/retro:${version}`,
        runtime: { args: ['retro'] },
      },
    ];
    return `${registry.name}/example/retro@${digest}`;
  }

  test('is synchronised, installed, pulled, launched, updated, pinned and removed', async () => {
    const first = await release('1.0');
    expect((await call('POST', '/sync')).body).toMatchObject({
      sync_error: null,
      images: [{ registry_digest: first, installed: false }],
    });
    const { status, body } = await call('POST', '/retro/install');
    expect([status, body.image.installed_version]).toEqual([201, '1.0']);
    const held = await until({ state: 'ready', version: '1.0' });
    expect(held.bytes).toBeGreaterThan(100);
    expect(progress).toEqual([50, 100]);

    const app = await world.app({ runtime_preset_id: body.image.runtime_preset_id, runtime_spec: {} });
    const session = await world.running(world.people.alice, app);
    expect(agent.commands.find(({ type }) => type === 'session_assign')).toMatchObject({
      app: { image: first, args: ['retro'] },
    });
    await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
    await world.until(session.id, 'stopped');

    const second = await release('1.1');
    await call('POST', '/sync');
    await call('POST', '/retro/pin');
    expect((await call('POST', '/retro/update')).status).toBe(409);
    await call('DELETE', '/retro/pin');
    expect((await call('POST', '/retro/update')).body.applied).toBe(true);
    await until({ state: 'ready', version: '1.1' });
    expect(agent.commands.at(-1)).toMatchObject({ type: 'image_ensure', registry_ref: second });

    await registry.kill();
    expect((await call('POST', '/sync')).body).toMatchObject({
      sync_error: expect.stringContaining('retro (its server did not answer as it should)'),
      images: [{ registry_digest: second, installed_version: '1.1' }],
    });
    await registry.start();
    expect((await call('POST', '/sync')).body.sync_error).toBeNull();

    expect((await call('DELETE', '/retro/install')).status).toBe(204);
    await eventually('the host is told', () => agent.commands.find(({ type }) => type === 'image_remove'));
    expect(await image()).toMatchObject({ installed: false, hosts: [{ state: 'absent', bytes: null }] });
  });

  test('that the registry no longer has fails on the host with its reason, and is asked for again', async () => {
    await release('2.0');
    await call('POST', '/sync');
    await registry.kill();
    await call('POST', '/retro/install');
    const failed = await until({ state: 'failed', version: '2.0' });
    expect(failed.error).toContain('fetch failed');
    await registry.start();
    await world.pass(30_000, agent);
    await until({ state: 'ready', version: '2.0', error: null });
  });
});

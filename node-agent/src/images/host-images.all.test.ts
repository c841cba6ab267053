import type { ImageState } from '@footlight/protocol/agent';
import { noRealPodman, pushImage } from '@footlight/test-harness/containers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ContainedSessions, startContainedSessions } from '../testing/contained-sessions.ts';

const why = noRealPodman();

describe.skipIf(why !== null)(`images of a host with a real podman${why === null ? '' : ` (${why})`}`, () => {
  let host: ContainedSessions;

  beforeAll(async () => {
    host = await startContainedSessions([71_530, 71_539], { SERVICE_IMAGE_SOURCE_HOSTS: 'builds.test' });
  }, 120_000);
  afterAll(() => host?.close());

  const states = (image_id: string): ImageState[] =>
    host.control.messages.flatMap((each) =>
      each.type === 'image_state' && each.image_id === image_id ? [each] : [],
    );
  const reached = (image_id: string, state: ImageState['state'], from = 0) =>
    host.control.wait('image_state', (each) => each.image_id === image_id && each.state === state, from);
  const ensure = (image_id: string, registry_ref = host.image, version = '1') =>
    host.control.command({ type: 'image_ensure', image_id, version, registry_ref });

  test('an agent with an engine announces it', async () => {
    const { features, images } = await host.control.wait('register');
    expect(features).toEqual(expect.arrayContaining(['images', 'image_build']));
    expect(images).toEqual([]);
  });

  test('an image is pulled, and reported when it is present', async () => {
    expect(await ensure('terminal')).toMatchObject({ ok: true });
    const ready = await reached('terminal', 'ready');
    expect(ready.bytes).toBeGreaterThan(1024 * 1024);
    expect(states('terminal')[0]).toMatchObject({
      state: 'pulling',
      progress_pct: 0,
      seq: expect.any(Number),
    });
    expect(await host.podman.podman('images', '--digests', '--format', '{{.Digest}}')).toContain(
      host.image.split('@')[1],
    );
    // A repeated command: the state is reported at once, without a second pull.
    const from = host.control.messages.length;
    await ensure('terminal');
    await reached('terminal', 'ready', from);
    expect(states('terminal').filter(({ state }) => state === 'pulling')).toHaveLength(1);
  });

  test.each(['docker.io/library/debian:12', 'debian', `x@sha256:${'0'.repeat(63)}`])(
    'a name that is not pinned is refused: %s',
    async (ref) => {
      expect(await ensure('loose', ref)).toMatchObject({ ok: false, code: 'invalid' });
    },
  );

  test('a digest that the registry does not have fails, and can be ensured again', async () => {
    const missing = `${host.registry.name}/apps/terminal@sha256:${'1'.repeat(64)}`;
    await ensure('missing', missing);
    const failed = await reached('missing', 'failed');
    expect(failed.error).toContain('manifest unknown');
    await ensure('missing');
    await reached('missing', 'ready');
    await host.control.command({ type: 'image_remove', image_id: 'missing' });
    await reached('missing', 'absent');
    await ensure('terminal');
  });

  test('an image in use is not removed, but afterwards it is', async () => {
    await ensure('used');
    await reached('used', 'ready');
    // The image stays in the engine, because another image of the catalog has the same ref.
    await host.control.command({ type: 'image_remove', image_id: 'terminal' });
    await reached('terminal', 'absent');
    expect(await host.podman.podman('images', '--quiet')).not.toBe('');
    const body = host.contained(['xterm']);
    await host.sessions.launch(body);
    await host.sessions.reached(body, 'app presented');
    await host.control.command({ type: 'image_remove', image_id: 'used' });
    expect(await reached('used', 'failed')).toMatchObject({ error: 'a session uses it' });
    await host.sessions.stop(body);
    await host.control.command({ type: 'image_remove', image_id: 'used' });
    await reached('used', 'absent');
    expect(await host.podman.podman('images', '--quiet')).toBe('');
    const from = host.control.messages.length;
    await host.control.command({ type: 'image_remove', image_id: 'used' });
    expect(await reached('used', 'absent', from)).toMatchObject({ version: '' });
  });

  test('a command after a removal runs after it, even if the same command is already running', async () => {
    const from = host.control.messages.length;
    const order = [ensure('again'), host.control.command({ type: 'image_remove', image_id: 'again' })];
    for (const ack of await Promise.all([...order, ensure('again')])) expect(ack).toMatchObject({ ok: true });
    await reached('again', 'absent', from);
    const absentAt = host.control.messages.findLastIndex(
      (each) => each.type === 'image_state' && each.image_id === 'again' && each.state === 'absent',
    );
    await reached('again', 'ready', absentAt);
    expect(await host.podman.podman('images', '--quiet')).not.toBe('');
    await host.control.command({ type: 'image_remove', image_id: 'again' });
    await reached('again', 'absent', absentAt + 1);
  });

  test('a registry that sends other bytes for a digest: the image is refused', async () => {
    // Replaces each layer of the image by a layer in which one byte is changed.
    const name = `${host.registry.name}/apps/forged:1`;
    await ensure('terminal');
    await reached('terminal', 'ready', host.control.messages.length);
    await host.podman.podman('tag', host.image, name);
    const forged = await pushImage(host.podman, name);
    await host.podman.podman('rmi', '--all', '--force');
    await host.registry.forge();
    await ensure('forged', forged);
    const failed = await reached('forged', 'failed');
    expect(failed.error).toMatch(/digest|verif|corrupt|invalid|checksum|gzip/i);
    expect(await host.podman.podman('images', '--quiet')).toBe('');
  });

  test.each([
    ['a plain address', { context_url: 'http://builds.test/x.tar.gz' }, 'policy'],
    ['a host that is not listed', { context_url: 'https://evil.test/x.tar.gz' }, 'policy'],
    ['a listed host as a user name', { context_url: 'https://builds.test@evil.test/x' }, 'policy'],
    ['another port', { context_url: 'https://builds.test:8443/x' }, 'policy'],
    ['another tag', { local_tag: 'docker.io/library/debian:12' }, 'invalid'],
    ['a Containerfile elsewhere', { dockerfile: '../../etc/passwd' }, 'invalid'],
    ['an absolute Containerfile', { dockerfile: '/etc/passwd' }, 'invalid'],
  ])('a build is refused: %s', async (_name, change, code) => {
    const ack = await host.control.command({
      type: 'image_build',
      image_id: 'tool',
      version: '1',
      context_url: 'https://builds.test/x.tar.gz',
      context_subdir: '',
      dockerfile: 'Containerfile',
      build_args: {},
      local_tag: 'service-local/tool:1',
      ...change,
    });
    expect(ack).toMatchObject({ ok: false, code });
  });
});

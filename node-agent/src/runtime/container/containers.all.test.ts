import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger, systemClock, systemRandom } from '@footlight/platform';
import type { DueHome } from '@footlight/protocol/agent';
import { noRealPodman, type RealPodman, startSlowRegistry } from '@footlight/test-harness/containers';
import { FakeControl } from '@footlight/test-harness/fake-control';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { HomeCollection } from '../../sessions/home/collection/home-collection.ts';
import { ControlModel } from '../../sessions/home/collection/testing/control-model.ts';
import { HomeLocks } from '../../sessions/home/home-locks.ts';
import { exitOf, firstHeartbeat, startAgentProcess } from '../../testing/agent-process.ts';
import {
  type ContainedSessions,
  engineVariables,
  startContainedSessions,
} from '../../testing/contained-sessions.ts';
import type { Assignment, HostedSessions } from '../../testing/hosted-sessions.ts';
import { NO_TRACES } from '../../testing/traces.ts';
import { EngineHost } from './engine/engine-host.ts';
import { HomeVolumes } from './home-volumes.ts';

const why = noRealPodman();

/** Starts an agent whose engine accepts connections but never answers. Waits until the agent has reported this. */
async function agentWithHungEngine() {
  const folder = await mkdtemp(join(tmpdir(), 'footlight-hung-'));
  await chmod(folder, 0o711);
  const engine = createServer(() => undefined).listen(join(folder, 'engine.sock'));
  const control = await FakeControl.listen();
  const agent = startAgentProcess({
    ...{ control, stateDir: join(folder, 'state'), uids: [71_510, 71_519] as const, uid: null },
    env: { SERVICE_CONTAINER_ENGINE: `unix://${join(folder, 'engine.sock')}` },
  });
  try {
    const { features } = await control.wait('register');
    const { readiness } = await control.wait('capacity');
    await firstHeartbeat(agent, control);
    const check = readiness?.find(({ id }) => id === 'container_runtime');
    return { features, check, heartbeat: true };
  } finally {
    agent.kill('SIGTERM');
    await exitOf(agent);
    await control.close();
    engine.close();
    await rm(folder, { recursive: true, force: true });
  }
}

describe.skipIf(why !== null)(
  `sessions in containers of a real podman${why === null ? '' : ` (${why})`}`,
  () => {
    let host: ContainedSessions;
    let podman: RealPodman;
    let sessions: HostedSessions;
    let shared: string;
    let hung: ReturnType<typeof agentWithHungEngine>;

    beforeAll(async () => {
      // Started now, at the same time as the other tests, because it mostly waits.
      hung = agentWithHungEngine();
      hung.catch(() => undefined);
      shared = await mkdtemp('/srv/footlight-shared-');
      await chmod(shared, 0o755);
      for (const name of ['games', 'saves']) await mkdir(join(shared, name));
      await chmod(join(shared, 'saves'), 0o777);
      await writeFile(join(shared, 'games/level'), 'level one');
      await symlink('/etc', join(shared, 'games/link'));
      host = await startContainedSessions([71_500, 71_509], {
        SERVICE_MOUNT_ROOTS: `${join(shared, 'games')}:${join(shared, 'saves')}:rw`,
      });
      ({ podman, sessions } = host);
    }, 120_000);

    afterEach(async () => {
      await vi.waitFor(async () => expect(await sessions.traces()).toEqual(NO_TRACES), 20_000);
      expect(await podman.containers()).toEqual([]);
      expect(await podman.podman('volume', 'ls', '--quiet', '--filter', 'name=^[0-9a-f]{64}$')).toBe('');
    });

    afterAll(async () => {
      await host?.close();
      await rm(shared, { recursive: true, force: true });
    });

    /** Runs a script in a container of the image until it ends. @returns the script's output */
    async function said(script: string, more: Partial<Assignment['app']> = {}): Promise<string> {
      const body = host.contained(['/bin/sh', '-c', `${script}; exit 7`], more);
      await sessions.launch(body);
      const end = await sessions.ended(body);
      expect(end).toMatchObject({
        state: 'failed',
        failure_code: 'app_exited_early',
        error: 'the app exited with status 7 before it drew anything',
      });
      return end.app_log_tail ?? '';
    }

    test('an image with a digest is pulled and its app drawn, step by step', async () => {
      const body = host.contained(['xterm', '-T', 'inside']);
      await sessions.launch(body);
      await sessions.reached(body, 'app presented');
      const steps = sessions.details(body);
      expect(steps.slice(0, 2)).toEqual(['preparing home', 'pulling image 0 %']);
      expect(steps.filter((step) => !step.startsWith('pulling'))).toEqual([
        'preparing home',
        'starting display',
        'starting app',
        'starting encoder',
        'app booting',
        'app presented',
      ]);
      expect(await podman.containers()).toEqual([`footlight-${body.session_id}`]);
      await sessions.stop(body);
    });

    test('a held image is not pulled again, and the output of the app is kept', async () => {
      expect(await said('echo one; echo two >&2')).toBe('one\ntwo');
    });

    test('an app that ends with status 0 after its first picture stops the session', async () => {
      const body = host.contained(['xterm', '-e', '/bin/sh', '-c', 'sleep 1']);
      await sessions.launch(body);
      expect(await sessions.ended(body)).toMatchObject({ state: 'stopped', reason: 'app_exited' });
    });

    test('an app that crashes after its picture fails the session', async () => {
      const body = host.contained(['/bin/sh', '-c', 'xterm & sleep 2; exit 3']);
      await sessions.launch(body);
      await sessions.reached(body, 'app presented');
      expect(await sessions.ended(body)).toMatchObject({ failure_code: 'app_crashed' });
    });

    test('a program that the image lacks is named in the error', async () => {
      const body = host.contained(['/usr/bin/no-such-game']);
      await sessions.launch(body);
      const end = await sessions.ended(body);
      expect(end).toMatchObject({ state: 'failed', failure_code: 'app_exited_early' });
      expect(end.app_log_tail).toContain('No such file or directory');
    });

    test('an app is swapped for another in the same session', async () => {
      const body = host.contained(['xterm', '-T', 'first']);
      await sessions.launch(body);
      await sessions.reached(body, 'app presented');
      const display = await sessions.displayOf(body);
      const next = host.contained(['xterm', '-T', 'second']).app;
      const app_id = randomUUID();
      const { session_id } = body;
      expect(
        await host.control.command({ type: 'session_swap_app', session_id, app_id, app: next }),
      ).toMatchObject({ ok: true });
      expect(
        await host.control.wait(
          'session_state',
          (message) => message.session_id === session_id && message.swap !== undefined,
        ),
      ).toMatchObject({ state: 'running', swap: { app_id, result: 'complete' } });
      expect(await podman.containers()).toEqual([`footlight-2-${session_id}`]);
      expect(await sessions.displayOf(body)).toEqual(display);
      await sessions.stop(body);
    });

    test('a home keeps its files, as a directory and as a volume', async () => {
      const volume = `service-home-${randomUUID()}`;
      for (const home of [
        { provider: 'local', ref: join(host.stateDir, 'homes/alice-1/doom'), container_path: '/home/doom' },
        { provider: 'volume', ref: volume, container_path: '/home/doom' },
      ] as const) {
        expect(await said('cd; pwd; echo saved >game', { home })).toBe('/home/doom');
        expect(await said('cat "$HOME/game"', { home })).toBe('saved');
      }
      expect(await readFile(join(host.stateDir, 'homes/alice-1/doom/game'), 'utf8')).toBe('saved\n');
      const labels = await podman.podman('volume', 'inspect', '--format', '{{.Labels}}', volume);
      expect(labels).toContain('footlight.home');
      await podman.podman('volume', 'rm', volume);
    });

    test('a volume home is collected, unless a container uses it, it was kept, or it is no home', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'footlight-volumes-'));
      const engine = new EngineHost(
        { url: podman.url, ociRuntime: null, required: true, stateDir: folder, nvidia: () => false },
        { clock: systemClock, logger: silentLogger(), env: {} },
      );
      const control = new ControlModel();
      const volumes = new HomeVolumes(engine);
      const collection = new HomeCollection(
        {
          stateDir: folder,
          root: () => ({ path: join(folder, 'homes'), isOwn: true }),
          isSessionsGroup: () => false,
        },
        {
          ...{ clock: systemClock, random: systemRandom, logger: silentLogger(), control },
          locks: new HomeLocks(systemClock),
          volumes: {
            ready: async () => void (await engine.engine()),
            remove: (ref) => volumes.remove(ref),
          },
          changed: () => undefined,
        },
      );
      const [used, kept] = [0, 1].map(() => {
        const id = randomUUID();
        return { id, provider: 'volume', ref: `service-home-${id}` } as const;
      }) as [DueHome, DueHome];
      const listed = async () =>
        (await podman.podman('volume', 'ls', '--quiet')).split('\n').filter(Boolean).sort();
      await podman.podman('volume', 'create', 'of-a-person');
      const at = ({ ref }: DueHome) => ({
        home: { provider: 'volume', ref, container_path: '/home/x' } as const,
      });
      await said('cd; echo saved >game', at(kept));
      const body = host.contained(['xterm'], at(used));
      await sessions.launch(body);
      await sessions.reached(body, 'app presented');
      for (const home of [used, kept]) control.add(home);
      control.beforeAnswer = (id) => {
        if (id === kept.id) control.set(id, 'kept');
      };
      expect(await collection.run()).toEqual({ deleted: 0, kept: 1, failed: 1 });
      expect(collection.problems).toEqual([{ id: used.id, why: `${used.ref}: a container uses it` }]);
      expect(await listed()).toEqual(['of-a-person', used.ref, kept.ref].sort());
      await sessions.stop(body);
      await collection.run();
      expect([await listed(), collection.problems]).toEqual([['of-a-person', kept.ref].sort(), []]);
      expect(await said('cat "$HOME/game"', at(kept))).toBe('saved');
      // A missing volume counts as removed.
      expect(await volumes.remove(used.ref)).toBe('absent');
      await podman.podman('volume', 'rm', kept.ref, 'of-a-person');
      collection.close();
      await rm(folder, { recursive: true });
    });

    test('directories of the host are mounted as its configuration allows', async () => {
      const mounts = [`${join(shared, 'games')}:/games:rw`, `${join(shared, 'saves')}:/saves`];
      const script = 'cat /games/level; echo; touch /games/x 2>&1; touch /saves/x && echo saved';
      expect(await said(script, { mounts })).toMatch(/^level one\ntouch: .*Read-only file system\nsaved$/);
      expect(existsSync(join(shared, 'saves/x'))).toBe(true);
    });

    test.each([
      ['outside the list', ['/usr/share:/data'], '/usr/share'],
      ['a link that leads out', ['SHARED/games/link:/data'], '/etc'],
      ['an option after a comma', ['SHARED/games:/data,source=/etc'], '/data,source=/etc'],
    ])('a mount is refused: %s', async (_name, mounts, path) => {
      const body = host.contained(['xterm'], {
        mounts: mounts.map((each) => each.replace('SHARED', shared)),
      });
      const ack = await host.control.command(body);
      expect(ack).toMatchObject({ ok: false, code: 'policy' });
      expect(ack.error).toContain(path);
    });

    test('only pinned images are pulled; other names run only if the engine holds them', async () => {
      const name = `${host.registry.name}/apps/terminal:1`;
      const unheld = await host.control.command(host.contained(['xterm'], { image: `${name}0` }));
      expect(unheld).toMatchObject({
        ok: false,
        code: 'image_missing',
        error: `${name}0: pin it by digest or install it as a catalog image`,
      });
      await podman.podman('tag', host.image, name);
      expect(await said('echo held', { image: name })).toBe('held');
      await podman.podman('untag', host.image, name);
    });

    test('an image that the registry does not have fails with this reason', async () => {
      const image = `${host.registry.name}/apps/terminal@sha256:${'0'.repeat(64)}`;
      const body = host.contained(['xterm'], { image });
      await sessions.launch(body);
      const end = await sessions.ended(body);
      expect(end).toMatchObject({ state: 'failed', failure_code: 'image_missing' });
      expect(end.error).toContain('manifest unknown');
    });

    test('a slow registry: the launch reports progress, a stop ends the wait, and the pull continues', async () => {
      await podman.podman('rmi', '--all', '--force');
      const slow = await startSlowRegistry(host.registry.name);
      try {
        const image = host.image.replace(host.registry.name, slow.name);
        const body = host.contained(['xterm'], { image });
        await sessions.launch(body);
        const percents = () =>
          sessions
            .details(body)
            .flatMap((step) => /^pulling image (\d+) %$/.exec(step)?.[1] ?? [])
            .map(Number);
        await vi.waitFor(() => expect(percents().some((each) => each > 0 && each < 100)).toBe(true), 20_000);
        expect(percents()).toEqual(percents().toSorted((a, b) => a - b));
        expect(sessions.details(body)).not.toContain('starting display');
        await sessions.stop(body);
        slow.hurry();
        const next = host.contained(['/bin/sh', '-c', 'exit 7'], { image });
        await sessions.launch(next);
        expect(await sessions.ended(next)).toMatchObject({ failure_code: 'app_exited_early' });
        // Two layers and their configuration; each must be fetched only once.
        expect(slow.blobsAsked()).toBe(3);
      } finally {
        slow.close();
        await podman.podman('rmi', '--all', '--force');
      }
    });

    test('an agent whose engine hangs still connects, and reports it', async () => {
      const { features, check, heartbeat } = await hung;
      expect(features).not.toContain('images');
      expect(check).toMatchObject({ status: 'fail' });
      expect(check?.summary).toContain('did not answer within 2 s');
      expect(heartbeat).toBe(true);
    });

    test('the engine is restarted: the app continues, and its end is detected', async () => {
      const script = 'xterm & until [ -e /saves/end ]; do sleep 0.1; done; exit 0';
      const body = host.contained(['/bin/sh', '-c', script], { mounts: [`${join(shared, 'saves')}:/saves`] });
      await sessions.launch(body);
      await sessions.reached(body, 'app presented');
      await podman.killService();
      await podman.startService();
      await writeFile(join(shared, 'saves/end'), '');
      expect(await sessions.ended(body)).toMatchObject({ state: 'stopped', reason: 'app_exited' });
    });

    test('a session ends while the engine is down, and its container is removed when the engine is back', async () => {
      const body = host.contained(['xterm']);
      await sessions.launch(body);
      await sessions.reached(body, 'app presented');
      await podman.killService();
      await sessions.stop(body);
      await podman.startService();
      await vi.waitFor(async () => expect(await podman.containers()).toEqual([]), 20_000);
    });

    test('a hanging engine fails a launch within its time limit, and leaves nothing', async () => {
      const body = host.contained(['xterm']);
      podman.signalService('SIGSTOP');
      const from = host.control.messages.length;
      // If the engine does not answer, the pinned image counts as missing, so the assignment is accepted.
      expect(await host.control.command(body)).toMatchObject({ ok: true });
      await host.control.command({ type: 'session_start', session_id: body.session_id });
      expect(await sessions.ended(body)).toMatchObject({ state: 'failed', failure_code: 'container_failed' });
      await host.control.wait('heartbeat', () => true, from);
      podman.signalService('SIGCONT');
      await vi.waitFor(async () => expect(await podman.containers()).toEqual([]), 20_000);
    });

    test('containers of a killed agent are removed at its next start, but no others', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'footlight-contained-'));
      await chmod(folder, 0o711);
      const stateDir = join(folder, 'state');
      await mkdir(stateDir, { mode: 0o711 });
      const control = await FakeControl.listen();
      const place = {
        control,
        stateDir,
        uids: [71_510, 71_519] as const,
        uid: null,
        env: engineVariables(podman),
      };
      const first = startAgentProcess(place);
      await firstHeartbeat(first, control);
      const body = host.contained(['xterm']);
      expect(await control.command(body)).toMatchObject({ ok: true });
      await control.command({ type: 'session_start', session_id: body.session_id });
      await control.wait('session_state', ({ detail }) => detail === 'app presented');
      const left = `footlight-${body.session_id}`;
      // An image may contain an agent's label, but a container that a person started from it does not belong to the
      // agent.
      const label = await podman.podman(
        'inspect',
        '--format',
        '{{index .Config.Labels "footlight.agent"}}',
        left,
      );
      await podman.podman(
        'create',
        '--name',
        'of-a-person',
        '--label',
        `footlight.agent=${label}`,
        host.image,
      );
      await podman.podman(
        'create',
        '--name',
        'footlight-of-another',
        '--label',
        'footlight.agent=x',
        host.image,
      );
      first.kill('SIGKILL');
      await exitOf(first);
      expect(await podman.containers()).toContain(left);
      const from = control.messages.length;
      const second = startAgentProcess(place);
      await control.wait('register', () => true, from);
      expect((await podman.containers()).sort()).toEqual(['footlight-of-another', 'of-a-person']);
      await podman.podman('rm', 'of-a-person', 'footlight-of-another');
      second.kill('SIGTERM');
      await exitOf(second);
      await control.close();
      await rm(folder, { recursive: true, force: true });
    });
  },
);

import {
  makeDebianImage,
  noRealPodman,
  pushImage,
  type RealPodman,
  type RealRegistry,
  startRealPodman,
  startRealRegistry,
} from '@footlight/test-harness/containers';
import { assignment } from '@footlight/test-harness/fake-control';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Assignment, type HostedSessions, startHostedSessions } from '../../testing/hosted-sessions.ts';
import { NO_TRACES } from '../../testing/traces.ts';

const why = noRealPodman();

describe.skipIf(why !== null)(
  `sessions in containers of a real podman${why === null ? '' : ` (${why})`}`,
  () => {
    let podman: RealPodman;
    let registry: RealRegistry;
    let host: Awaited<ReturnType<typeof startHostedSessions>>;
    let sessions: HostedSessions;
    let image: string;
    let tagged: string;

    beforeAll(async () => {
      podman = await startRealPodman();
      registry = await startRealRegistry();
      tagged = `${registry.name}/apps/terminal:1`;
      await makeDebianImage(podman, tagged);
      image = await pushImage(podman, tagged);
      // The host must pull it.
      await podman.podman('rmi', '--force', tagged);
      host = await startHostedSessions([71_500, 71_509], {
        SERVICE_CONTAINER_ENGINE: podman.url,
        SERVICE_CONTAINER_ULIMITS: podman.ulimits,
        SERVICE_APP_MEMORY_MB: '512',
        SERVICE_APP_PIDS: '200',
      });
      ({ sessions } = host);
    }, 120_000);

    afterEach(async () => {
      await vi.waitFor(async () => expect(await sessions.traces()).toEqual(NO_TRACES), 20_000);
      expect(await podman.containers()).toEqual([]);
    });

    afterAll(async () => {
      await host?.close();
      await registry?.stop();
      await podman?.stop();
    });

    const contained = (args: string[], more: Partial<Assignment['app']> = {}): Assignment => {
      const body = assignment(args);
      Object.assign(body.app, { image, ...more });
      return body;
    };

    test('an image with a digest is pulled and its app drawn, step by step', async () => {
      const body = contained(['xterm', '-T', 'inside']);
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
  },
);

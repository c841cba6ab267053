import {
  type RealPodman,
  type RealRegistry,
  startDebianRegistry,
  startRealPodman,
} from '@footlight/test-harness/containers';
import { assignment } from '@footlight/test-harness/fake-control';
import { type Assignment, startHostedSessions } from './hosted-sessions.ts';

/** Podman, a registry with an image of this host's Debian, and an agent that uses both. */
export interface ContainedSessions extends Awaited<ReturnType<typeof startHostedSessions>> {
  podman: RealPodman;
  registry: RealRegistry;
  /** Reference of the image by digest; podman has not pulled it yet. */
  image: string;
  /** Creates an assignment of an app in that image. */
  contained(args: string[], more?: Partial<Assignment['app']>): Assignment;
}

/** Environment variables of an agent that uses the podman of the tests. */
export function engineVariables(podman: RealPodman): Record<string, string> {
  return { SERVICE_CONTAINER_ENGINE: podman.url, SERVICE_CONTAINER_ULIMITS: podman.ulimits };
}

/**
 * Starts podman, registry and agent. `close` ends all three and removes their files.
 * @param uids range of the agent's session users
 * @param env additional environment variables of the agent
 */
export async function startContainedSessions(
  uids: readonly [number, number],
  env: Record<string, string> = {},
): Promise<ContainedSessions> {
  const podman = await startRealPodman();
  // The assignment names the image in the registry, so the host must pull it.
  const [{ registry, image }, host] = await Promise.all([
    startDebianRegistry(podman),
    startHostedSessions(uids, { ...engineVariables(podman), ...env }),
  ]);
  return {
    ...host,
    podman,
    registry,
    image,
    contained: (args, more = {}) => {
      const body = assignment(args);
      Object.assign(body.app, { image, ...more });
      return body;
    },
    async close() {
      await host.close();
      await registry.stop();
      await podman.stop();
    },
  };
}

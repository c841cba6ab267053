import { mkdir } from 'node:fs/promises';
import type { Logger, Random } from '@footlight/platform';
import { type Clock, delay } from '@footlight/platform';
import type { AgentConfig } from './config/environment.ts';
import { HostSettings } from './config/host-settings.ts';
import { ControlLink } from './link/control-link.ts';
import { IdentityStore } from './link/identity.ts';
import { Inventory } from './readiness/inventory.ts';
import { AGENT_VERSION } from './version.ts';

/**
 * A person waits for the result. Within this limit several attempts are possible: a handshake step takes at most 15 s,
 * and the backoff at most 4 s.
 */
const LIMIT_MS = 60_000;

/**
 * Enrolls this host: connects once, stores the secret, and disconnects. It also reports the hardware, because a host
 * without a capacity report does not count as enrolled.
 * @returns the exit code: 0 the host is enrolled (now or before), 1 it was not enrolled within a minute
 */
export async function enroll(
  config: AgentConfig,
  deps: { clock: Clock; random: Random; logger: Logger },
): Promise<number> {
  await mkdir(config.stateDir, { recursive: true, mode: 0o711 });
  const identity = new IdentityStore(config.stateDir, deps.random);
  const stored = await identity.load();
  if (stored?.node_name === config.nodeName) {
    deps.logger.info({ host_id: stored.host_id }, 'enroll.already');
    return 0;
  }
  const inventory = new Inventory(config, {
    ...deps,
    isolated: false,
    networks: false,
    // Left empty, because the agent that runs later reports the problems of homes.
    homeProblems: () => [],
    engine: { look: async () => ({ kind: 'off' as const }) },
    settings: await HostSettings.open(config.stateDir, config.hostSettings, deps.logger),
  });
  await inventory.probe();
  const link = new ControlLink(
    { ...config, bootId: deps.random.uuid(), agentVersion: AGENT_VERSION },
    {
      ...deps,
      identity,
      handler: {
        register: () => ({ features: [], sessions: [] }),
        capacity: () => inventory.capacity(null),
        heartbeat: () => ({ running_sessions: [] }),
        command: async () => ({ ok: false, code: 'busy', error: 'this agent only enrolls' }),
        signaling: () => undefined,
        registered: () => undefined,
        seen: () => undefined,
        linkReady: () => undefined,
        beforeDial: async () => undefined,
        linkLost: () => undefined,
      },
    },
  );
  await link.start();
  const untilMs = deps.clock.monotonicMs() + LIMIT_MS;
  while (!link.connected && deps.clock.monotonicMs() < untilMs) await delay(deps.clock, 50);
  const enrolled = link.connected;
  await link.stop();
  if (enrolled) deps.logger.info({ host_id: link.hostId, node_name: config.nodeName }, 'enroll.done');
  else deps.logger.error({ why: 'not within a minute; the lines above say more' }, 'enroll.failed');
  return enrolled ? 0 : 1;
}

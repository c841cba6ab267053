import { MINUTE_MS } from '@footlight/platform';
import { MAX_HOST_PREFLIGHTS } from '@footlight/protocol/preflight';
import type { Body, Host, Success } from '@footlight/protocol/rest';
import type { IceServer } from '@footlight/protocol/signal';
import type { CommandResult, FleetService } from '../fleet/index.ts';
import { ApiError, unavailable } from '../platform/errors.ts';
import { createKeyedCount } from '../platform/keyed-count.ts';
import { rateLimited } from '../platform/limits.ts';
import type { Platform } from '../platform/platform.ts';
import { mintIceServers } from '../signaling/index.ts';
import { hostServers, planPaths } from './paths.ts';

/** Lifetime of the TURN credentials of a test. A test of all paths takes less than a minute. */
const CREDENTIALS_MS = 2 * MINUTE_MS;
/** Largest number of tests that wait for hosts in this process. Chosen, not measured. */
const MAX_TESTS = 16;
/** Retry-After of a test above a limit: the time in which a host ends a test. */
const RETRY_MS = 20_000;
/** Feature of agents that know the command. */
const FEATURE = 'preflight';

/** Connection tests between an administrator's browser and a host. Only signaling passes through this service. */
export interface Preflights {
  /** @throws ApiError 404, 409, 503 */
  start(hostId: string, actorUserId: string): Promise<Success<'preflight.start'>>;
  /** Passes an offer to the host. @throws ApiError 400, 404, 409, 429, 503 */
  offer(hostId: string, test: Body<'preflight.offer'>): Promise<Success<'preflight.offer'>>;
}

export function createPreflights(
  { activity, clock, config, random }: Platform,
  fleet: Pick<FleetService, 'agents' | 'hosts'>,
): Preflights {
  const running = createKeyedCount();

  /** The host, if its agent can test connections. @throws ApiError 404, 409, 503 */
  async function testable(hostId: string): Promise<Host> {
    const host = await fleet.hosts.read(hostId);
    const link = await fleet.agents.link(hostId);
    if (link === null) throw new ApiError('conflict', { message: `${host.node_name} is offline.` });
    if (!link.features.includes(FEATURE)) throw new ApiError('preflight_unsupported');
    return host;
  }

  /** ICE servers with credentials of their own for each call. */
  function mint(): IceServer[] {
    const nowMs = clock.nowMs();
    return mintIceServers(config.sessions, random.uuid(), nowMs, nowMs + CREDENTIALS_MS).iceServers;
  }

  return {
    async start(hostId, actorUserId) {
      const host = await testable(hostId);
      await activity.record(actorUserId, 'host.preflight', hostId, { node_name: host.node_name });
      return { paths: planPaths(mint()) };
    },

    async offer(hostId, { path, offer }) {
      const host = await testable(hostId);
      const servers = mint();
      const planned = planPaths(servers).find((one) => one.path === path);
      if (planned?.missing !== null)
        throw new ApiError('conflict', { message: 'This instance has no TURN server for this path.' });
      if (running.total >= MAX_TESTS || running.of(hostId) >= MAX_HOST_PREFLIGHTS)
        throw rateLimited(RETRY_MS);
      const ended = running.begin(hostId);
      try {
        const command = {
          type: 'preflight' as const,
          ...{ path, offer },
          ice_servers: hostServers(path, servers),
        };
        return answerOf(await fleet.agents.command(hostId, command), host);
      } finally {
        ended();
      }
    },
  };
}

/** @throws ApiError 400, 409, 429, 503 when there is no answer */
function answerOf(result: CommandResult, { node_name }: Host): Success<'preflight.offer'> {
  switch (result.kind) {
    case 'ok':
      if (result.preflight === undefined) throw unavailable(`${node_name} sent no answer.`);
      return result.preflight;
    case 'timeout':
      throw unavailable(`${node_name} did not answer in time.`);
    case 'not_asked':
      throw unavailable(`${node_name} cannot be reached right now.`);
    case 'not_connected':
      if (!result.sent) throw new ApiError('conflict', { message: `${node_name} is offline.` });
      // The link was lost, or an older replica has it and cannot read the command.
      throw unavailable(
        `${node_name} did not answer. Try again. During an upgrade, upgrade all control planes first.`,
      );
    case 'refused':
      throw refusalOf(result, node_name);
  }
}

function refusalOf({ code, error }: Extract<CommandResult, { kind: 'refused' }>, name: string): ApiError {
  switch (code) {
    case 'busy':
      return rateLimited(RETRY_MS);
    case 'invalid':
      return new ApiError('validation_failed', { message: `offer: ${error}` });
    case 'unknown_command':
      return new ApiError('preflight_unsupported');
    default:
      return unavailable(`The test on ${name} failed: ${error}`);
  }
}

import { silentLogger, systemClock, systemRandom } from '@footlight/platform';
import type { FakeControl } from '@footlight/test-harness/fake-control';
import { Agent } from '../agent.ts';
import type { AgentDeps } from '../agent-parts.ts';
import { readConfig } from '../config/environment.ts';

/** Resources of this host for an agent under test. */
export interface TestAgentPlace {
  control: FakeControl;
  stateDir: string;
  /** Range of user ids for sessions. */
  uids: readonly [number, number];
}

export function agentVariables({ control, stateDir, uids }: TestAgentPlace): Record<string, string> {
  return {
    SERVICE_CONTROL_URL: control.url.href,
    SERVICE_AGENT_STATE_DIR: stateDir,
    SERVICE_AGENT_HEALTH_ADDR: '127.0.0.1:0',
    SERVICE_ENROLLMENT_TOKEN: 'a-token-for-the-tests',
    SERVICE_NODE_NAME: 'test-node',
    SERVICE_PROCESS_RUNTIME: '1',
    SERVICE_MEDIA_FALLBACK_PORT: '0',
    SERVICE_PROCESS_UIDS: uids.join('-'),
  };
}

/** Starts an agent in this process. */
export function startTestAgent(
  place: TestAgentPlace,
  env: Record<string, string> = {},
  deps: Partial<AgentDeps> = {},
): Promise<Agent> {
  return Agent.start(readConfig({ ...agentVariables(place), ...env }), {
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger(),
    ...deps,
  });
}

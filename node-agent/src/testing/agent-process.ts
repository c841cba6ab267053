import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import type { FakeControl } from '@footlight/test-harness/fake-control';
import { agentVariables, type TestAgentPlace } from './test-agent.ts';

/**
 * Main program of the built agent. If the agent were started from source, each of its processes would compile the whole
 * agent.
 */
const MAIN = resolve(import.meta.dirname, '../../dist/main.js');

export interface AgentProcessOptions extends TestAgentPlace {
  /** User id of the agent; null: the user of the test run. */
  uid: number | null;
  /** Port of the health page; default: a free port. */
  healthPort?: number;
  /** Additional variables of the agent. */
  env?: Record<string, string>;
}

/** Starts `node-agent run` as a separate process, configured only by environment variables. */
export function startAgentProcess({
  control,
  stateDir,
  uids,
  uid,
  healthPort = 0,
  env = {},
}: AgentProcessOptions): ChildProcess {
  return spawn(process.execPath, [MAIN, 'run'], {
    cwd: resolve(import.meta.dirname, '../..'),
    env: {
      PATH: process.env.PATH,
      TMPDIR: stateDir,
      ...agentVariables({ control, stateDir, uids }),
      SERVICE_AGENT_HEALTH_ADDR: `127.0.0.1:${healthPort}`,
      // Logs fatal errors, so that the output of the tests shows why the agent ended.
      SERVICE_LOG_LEVEL: 'fatal',
      ...env,
    },
    stdio: ['ignore', 'inherit', 'inherit'],
    ...(uid === null ? {} : { uid, gid: uid }),
  });
}

/** Waits for the first heartbeat of an agent. @throws when the agent ends earlier */
export async function firstHeartbeat(agent: ChildProcess, control: FakeControl): Promise<void> {
  await Promise.race([
    control.wait('heartbeat'),
    exitOf(agent).then((code) => {
      throw new Error(`the agent ended with ${code} before its first heartbeat; its own output says why`);
    }),
  ]);
}

/** Waits until a process has exited, and returns its exit code. null: a signal ended the process. */
export function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((done) => child.once('exit', (code) => done(code)));
}

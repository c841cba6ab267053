import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import type { ControlStandIn } from './control-stand-in.ts';
import { agentVariables, type TestAgentPlace } from './test-agent.ts';

/** The built agent: from source, each of its processes would compile the whole agent. */
const MAIN = resolve(import.meta.dirname, '../../dist/main.js');

export interface AgentProcessOptions extends TestAgentPlace {
  /** User that it runs as; null = the one that runs the tests. */
  uid: number | null;
  /** Port of its health answer; left out: any that is free. */
  healthPort?: number;
}

/** Starts `node-agent run` as a process of its own, configured by the environment only. */
export function startAgentProcess({
  control,
  stateDir,
  uids,
  uid,
  healthPort = 0,
}: AgentProcessOptions): ChildProcess {
  return spawn(process.execPath, [MAIN, 'run'], {
    cwd: resolve(import.meta.dirname, '../..'),
    env: {
      PATH: process.env.PATH,
      TMPDIR: stateDir,
      ...agentVariables({ control, stateDir, uids }),
      SERVICE_AGENT_HEALTH_ADDR: `127.0.0.1:${healthPort}`,
      // Why it ended by itself is then in the output of the tests.
      SERVICE_LOG_LEVEL: 'fatal',
    },
    stdio: ['ignore', 'inherit', 'inherit'],
    ...(uid === null ? {} : { uid, gid: uid }),
  });
}

/** Waits until an agent that was just started works. @throws when it ends before that */
export async function firstHeartbeat(agent: ChildProcess, control: ControlStandIn): Promise<void> {
  await Promise.race([
    control.wait('heartbeat'),
    exitOf(agent).then((code) => {
      throw new Error(`the agent ended with ${code} before its first heartbeat; its own output says why`);
    }),
  ]);
}

/** Exit code of a process, now or later; null = a signal ended it. */
export function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((done) => child.once('exit', (code) => done(code)));
}

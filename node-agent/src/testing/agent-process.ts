import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import type { ControlStandIn } from './control-stand-in.ts';

const MAIN = resolve(import.meta.dirname, '../main.ts');

export interface AgentProcessOptions {
  control: ControlStandIn;
  stateDir: string;
  /** Range of its sessions' users. */
  uids: readonly [number, number];
  /** User that it runs as; null = the one that runs the tests. */
  uid: number | null;
}

/** Starts `node-agent run` as a process of its own, configured by the environment only. */
export function startAgentProcess({ control, stateDir, uids, uid }: AgentProcessOptions): ChildProcess {
  return spawn(process.execPath, ['--import', 'tsx', MAIN, 'run'], {
    cwd: resolve(import.meta.dirname, '../..'),
    env: {
      PATH: process.env.PATH,
      TMPDIR: stateDir,
      // A loader whose agent was killed would still write its cache after the test's directory is gone.
      TSX_DISABLE_CACHE: '1',
      SERVICE_CONTROL_URL: control.url.href,
      SERVICE_AGENT_STATE_DIR: stateDir,
      SERVICE_AGENT_HEALTH_ADDR: '127.0.0.1:0',
      SERVICE_ENROLLMENT_TOKEN: 'a-token-for-the-tests',
      SERVICE_NODE_NAME: 'test-node',
      SERVICE_PROCESS_RUNTIME: '1',
      SERVICE_PROCESS_UIDS: uids.join('-'),
      SERVICE_LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
    ...(uid === null ? {} : { uid, gid: uid }),
  });
}

/** Exit code of a process, now or later; null = a signal ended it. */
export function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((done) => child.once('exit', (code) => done(code)));
}

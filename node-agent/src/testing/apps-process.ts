import { resolve } from 'node:path';
import { execa } from 'execa';
import type { AppRun } from './run-apps.ts';

/** Path of the built run-apps.ts. If it were started from source, each start would compile the runtime. */
export const RUN_APPS = resolve(import.meta.dirname, '../../dist/testing/run-apps.js');

/**
 * Runs apps like an agent, in a separate process.
 * @param uid user of the agent; default: root
 * @returns the output of the last app
 * @throws when an app ends before it is ready, or when a network of an app remains
 */
export async function runApps(stateDir: string, run: AppRun, uid = 0): Promise<string> {
  const asUser = ['--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--'];
  const line = [process.execPath, RUN_APPS, stateDir, JSON.stringify(run)];
  const { stdout } = await execa('setpriv', [...asUser, ...line]);
  return stdout;
}

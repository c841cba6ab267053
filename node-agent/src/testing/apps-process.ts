import { resolve } from 'node:path';
import { execa } from 'execa';
import type { AppRun } from './run-apps.ts';

/** The built program of run-apps.ts. From source, each start would compile the runtime. */
export const RUN_APPS = resolve(import.meta.dirname, '../../dist/testing/run-apps.js');

/**
 * Runs apps as an agent does, in a process of its own.
 * @param uid user of the agent; default: root
 * @returns what the last one wrote
 * @throws when one ends before it is ready, or a network of an app is left
 */
export async function runApps(stateDir: string, run: AppRun, uid = 0): Promise<string> {
  const asUser = ['--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--'];
  const line = [process.execPath, RUN_APPS, stateDir, JSON.stringify(run)];
  const { stdout } = await execa('setpriv', [...asUser, ...line]);
  return stdout;
}

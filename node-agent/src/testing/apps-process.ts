import { resolve } from 'node:path';
import { execa } from 'execa';
import type { AppRun } from './run-apps.ts';

/** The built program of run-apps.ts. From source, each start would compile the runtime. */
export const RUN_APPS = resolve(import.meta.dirname, '../../dist/testing/run-apps.js');

/**
 * Runs apps as a root agent does, in a process of its own.
 * @returns what the last one wrote
 * @throws when one ends before it is ready, or a network of an app is left
 */
export async function runApps(stateDir: string, run: AppRun): Promise<string> {
  const { stdout } = await execa(process.execPath, [RUN_APPS, stateDir, JSON.stringify(run)]);
  return stdout;
}

import { execFileSync } from 'node:child_process';
import { delay, systemClock } from '@footlight/platform';
import { NetworkPool } from '../runtime/network/network-pool.ts';
import type { RunningApp } from '../runtime/runtime.ts';
import { type RuntimeApp, startRuntimeApp } from './runtime-app.ts';
import { networkHolders } from './traces.ts';

/**
 * Program that runs apps as an agent does, as root in their own networks, and prints the last app's output. The next
 * app starts after the previous one has written `ready`. After the last app's exit, all apps are stopped. The program
 * fails if an app's network remains.
 *
 * usage: run-apps.ts STATE_DIR RUN (RUN: JSON of an AppRun)
 */
export interface AppRun {
  apps: TestApp[];
  /** Whether to prepare a network before an app needs it; default: false. */
  keep?: boolean;
  /**
   * Command that runs on the host before the last app starts. At this time, a network prepared in advance already
   * exists.
   */
  beforeLast?: string[];
}

interface TestApp {
  args: string[];
  uid: number;
  spec?: RuntimeApp['spec'];
}

/** @throws when an app ends without writing `ready` */
async function isReady(app: RunningApp | undefined): Promise<void> {
  let isOver = false;
  void app?.exited.then(() => {
    isOver = true;
  });
  while (app !== undefined && !app.logTail().includes('ready')) {
    if (isOver) throw new Error(`the app ended: ${app.logTail()}`);
    await delay(systemClock, 10);
  }
}

const [stateDir = '', text = '{}'] = process.argv.slice(2);
const { apps, keep = false, beforeLast = [] } = JSON.parse(text) as AppRun;
const isRoot = process.getuid?.() === 0;
const networks = new NetworkPool({ clock: systemClock, keep, mediaPorts: null });
const running: RunningApp[] = [];
for (const [index, { uid, args, spec = {} }] of apps.entries()) {
  await isReady(running.at(-1));
  const [program, ...words] = beforeLast;
  if (index === apps.length - 1 && program !== undefined) execFileSync(program, words);
  const sessionId = `${index}c253cc2-059b-4b22-b34d-5ad7a7949052`;
  const agent = isRoot
    ? { user: { uid, gid: uid, groups: [] }, networks }
    : { user: null, options: { isolation: 'user' as const, ownDirs: [stateDir] } };
  running.push((await startRuntimeApp({ stateDir, sessionId, args, spec, ...agent })).app);
}
await running.at(-1)?.exited;
for (const app of running) await app.stop(0);
await networks.close();
if (networkHolders(process.pid).length > 0) throw new Error('a network of an app is left');
process.stdout.write(running.at(-1)?.logTail() ?? '');

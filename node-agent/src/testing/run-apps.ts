import { execFileSync } from 'node:child_process';
import { delay, systemClock } from '@footlight/platform';
import { NetworkPool } from '../runtime/network/network-pool.ts';
import type { RunningApp } from '../runtime/runtime.ts';
import { type RuntimeApp, startRuntimeApp } from './runtime-app.ts';
import { networkHolders } from './traces.ts';

/**
 * A program: runs apps as a root agent does, in the network and with the files that it stands in, and prints what
 * the last one wrote. Each starts when the one before has written `ready`; when the last one has ended, all are stopped.
 * It fails when a network of an app is left then.
 *
 * usage: run-apps.ts STATE_DIR RUN, the JSON of an AppRun
 */
export interface AppRun {
  apps: TestApp[];
  /** Whether a network is made ahead; left out: no. */
  keep?: boolean;
  /** Command that the host runs before the last app starts; a network that is made ahead was begun before. */
  beforeLast?: string[];
}

interface TestApp {
  args: string[];
  uid: number;
  spec?: RuntimeApp['spec'];
}

/** @throws when an app ends instead */
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
const networks = new NetworkPool({ clock: systemClock, keep });
const running: RunningApp[] = [];
for (const [index, { uid, args, spec = {} }] of apps.entries()) {
  await isReady(running.at(-1));
  const [program, ...words] = beforeLast;
  if (index === apps.length - 1 && program !== undefined) execFileSync(program, words);
  const sessionId = `${index}c253cc2-059b-4b22-b34d-5ad7a7949052`;
  const user = { uid, gid: uid, groups: [] };
  running.push((await startRuntimeApp({ stateDir, sessionId, user, args, spec, networks })).app);
}
await running.at(-1)?.exited;
for (const app of running) await app.stop(0);
await networks.close();
if (networkHolders(process.pid).length > 0) throw new Error('a network of an app is left');
process.stdout.write(running.at(-1)?.logTail() ?? '');

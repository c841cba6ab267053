import { delay, systemClock } from '../platform/clock.ts';
import type { RunningApp } from '../runtime/runtime.ts';
import { type RuntimeApp, startRuntimeApp } from './runtime-app.ts';

/**
 * A program: runs apps as a root agent does, in the network and with the files that it stands in, and prints what
 * the last one wrote. Each starts when the one before has written `ready`; when the last one has ended, all are stopped.
 *
 * usage: run-apps.ts STATE_DIR APPS, a JSON array of TestApp
 */
export interface TestApp {
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

const [stateDir = '', apps = '[]'] = process.argv.slice(2);
const running: RunningApp[] = [];
for (const [index, { uid, args, spec = {} }] of (JSON.parse(apps) as TestApp[]).entries()) {
  await isReady(running.at(-1));
  const sessionId = `${index}c253cc2-059b-4b22-b34d-5ad7a7949052`;
  const user = { uid, gid: uid, groups: [] };
  running.push((await startRuntimeApp({ stateDir, sessionId, user, args, spec })).app);
}
await running.at(-1)?.exited;
for (const app of running) await app.stop(0);
process.stdout.write(running.at(-1)?.logTail() ?? '');

/**
 * Provisions or collects homes in a separate process that kills itself at a given step: before the first change of a
 * file or directory, before the second, and so on, and before and after each call. Tests start this process, and then
 * check with a second process that the collection is finished.
 *
 * FOOTLIGHT_TEST: JSON of CollectOrder.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

export interface CollectOrder {
  stateDir: string;
  root: string;
  controlUrl: string;
  /** Number of the step at which the process kills itself, from 1; 0: never. */
  killAt: number;
  /** The home that a session opens and closes; null: collect homes instead. */
  provision: { ref: string; user: { uid: number; gid: number; groups: number[] } | null } | null;
}

const order = JSON.parse(process.env.FOOTLIGHT_TEST ?? '') as CollectOrder;
let steps = 0;

function step(): void {
  steps += 1;
  if (steps === order.killAt) process.kill(process.pid, 'SIGKILL');
}

type Functions = Record<string, (...args: never[]) => unknown>;

/** Counts each call of these functions as a step, before the call. */
function watch(owner: object, names: readonly string[]): void {
  const functions = owner as Functions;
  for (const name of names) {
    const real = functions[name] as Functions[string];
    functions[name] = function (this: unknown, ...args: never[]) {
      step();
      return real.apply(this, args);
    };
  }
}

watch(fs.promises, ['chmod', 'chown', 'mkdir', 'rename', 'rm', 'writeFile']);
watch(fs, ['rmdirSync']);
syncBuiltinESMExports();
const handle = await fs.promises.open('/dev/null');
watch(Object.getPrototypeOf(handle), ['sync', 'writeFile']);
await handle.close();

// Imported only now, after the functions were replaced.
const { silentLogger, systemClock, systemRandom } = await import('@footlight/platform');
const { closeHome, openHome } = await import('../../home.ts');
const { HomeLocks } = await import('../../home-locks.ts');
const { gcCalls } = await import('../gc-calls.ts');
const { HomeCollection } = await import('../home-collection.ts');

if (order.provision) {
  const { ref, user } = order.provision;
  await openHome(order.root, ref, user);
  await closeHome(ref, user);
} else {
  const clock = systemClock;
  const control = gcCalls(async (call) => {
    step();
    const response = await fetch(`${order.controlUrl}${call.path}`, {
      method: call.method,
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    });
    const answer = { status: response.status, body: await response.json() };
    step();
    return answer;
  });
  const collection = new HomeCollection(
    {
      stateDir: order.stateDir,
      root: () => ({ path: order.root, isOwn: true }),
      isSessionsGroup: () => true,
    },
    {
      clock,
      control,
      random: systemRandom,
      logger: silentLogger(),
      locks: new HomeLocks(clock),
      volumes: { ready: () => Promise.reject(new Error('no engine')), remove: async () => 'absent' },
      changed: () => undefined,
    },
  );
  await collection.open();
  await collection.resume();
  process.stdout.write(JSON.stringify(await collection.run()));
}

import { systemRandom } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import { expect, test } from 'vitest';
import type { Child, ChildExit } from '../runtime/programs/child.ts';
import type { SessionDirs } from '../runtime/runtime.ts';
import type { startHelper } from '../runtime/sandbox.ts';
import { startWindowManager } from './window-manager.ts';

test('a window manager that died and does not start again is tried twice more, then the session continues without it', async () => {
  const clock = new ManualClock();
  let die: (exit: ChildExit) => void = () => undefined;
  let starts = 0;
  const run: typeof startHelper = async () => {
    starts += 1;
    if (starts > 1) throw new Error('spawn EAGAIN');
    const exited = new Promise<ChildExit>((resolve) => {
      die = resolve;
    });
    return { pid: 1, exited, drained: exited, alive: false, signal: () => undefined } as unknown as Child;
  };
  const options = {
    ...{ sessionId: 'the-session', user: null, dirs: {} as SessionDirs, enter: [], display: ':1' },
    ended: new AbortController().signal,
  };
  const manager = await startWindowManager(options, { clock, random: systemRandom, env: {} }, run);
  die({ code: 1, signal: null });
  for (let tries = 2; tries <= 4; tries++) {
    await expect.poll(() => [starts, clock.pendingTimers]).toEqual([tries, 1]);
    clock.advance(1_000);
  }
  await new Promise(setImmediate);
  expect([starts, clock.pendingTimers]).toEqual([4, 0]);
  await manager.close();
});

import { ManualClock } from '@footlight/platform/testing';
import { expect, test } from 'vitest';
import type { ParentMessage, WorkerMessage } from '../../media/worker/worker-messages.ts';
import type { MediaWorker } from '../../media/worker/worker-pool.ts';
import { DisplayChanges } from './display-changes.ts';

const LATE = 'the display did not change in time';
const HALF = { render: { width: 640, height: 360 } };

/** A fake worker whose answers the test controls. */
function changes() {
  const clock = new ManualClock();
  const sent: ParentMessage[] = [];
  const listeners = new Set<(message: WorkerMessage) => void>();
  const worker = {
    send: (message: ParentMessage) => void sent.push(message),
    on: (_type: string, listener: (message: never) => void) => {
      listeners.add(listener as (message: WorkerMessage) => void);
      return () => listeners.delete(listener as (message: WorkerMessage) => void);
    },
  } as Pick<MediaWorker, 'on' | 'send'>;
  let end: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    clock,
    sent,
    listeners,
    gone: () => end(),
    changes: new DisplayChanges(worker, clock, gone),
    answer: (request: number, error: string | null = null) => {
      for (const listener of [...listeners]) listener({ type: 'display_done', request, error });
    },
  };
}
/** Runs all callbacks of promises that are ready. */
const turn = () => new Promise(setImmediate);

test.each([
  ['done', null],
  ['refused', 'the display refused the size'],
])('a change that is %s in time is answered so, and not withdrawn', async (_what, error) => {
  const { clock, sent, listeners, changes: made, answer } = changes();
  const outcome = made.make(HALF);
  await turn();
  clock.advance(4_499);
  answer(1, error);
  expect(await outcome).toBe(error);
  clock.advance(60_000);
  expect(sent).toEqual([{ type: 'display', request: 1, ...HALF }]);
  expect([clock.pendingTimers, listeners.size]).toEqual([0, 0]);
});

test('a change that is not done after 4.5 s is refused and withdrawn; a later answer has no effect', async () => {
  const { clock, sent, listeners, changes: made, answer } = changes();
  const outcome = made.make(HALF);
  await turn();
  clock.advance(4_500);
  expect(await outcome).toBe(LATE);
  answer(1);
  expect(sent.slice(1)).toEqual([{ type: 'withdraw_display', request: 1 }]);
  expect(listeners.size).toBe(0);
});

test('the next change is sent when the previous one is over, within its own 4.5 s', async () => {
  const { clock, sent, changes: made, answer } = changes();
  const first = made.make(HALF);
  clock.advance(1_000);
  const second = made.make({ ui_scale: 2 });
  const third = made.make({ ui_scale: 3 });
  await turn();
  expect(sent).toHaveLength(1);
  clock.advance(3_500);
  expect(await first).toBe(LATE);
  await turn();
  expect(sent.slice(1)).toEqual([
    { type: 'withdraw_display', request: 1 },
    { type: 'display', request: 2, ui_scale: 2 },
  ]);
  clock.advance(1_000);
  // A change that waits until its time limit passes is never sent.
  expect([await second, await third]).toEqual([LATE, LATE]);
  expect(sent.slice(3)).toEqual([{ type: 'withdraw_display', request: 2 }]);
  const fourth = made.make({ ui_scale: 1 });
  await turn();
  answer(3);
  expect(await fourth).toBeNull();
});

test('if the session ends meanwhile, nothing is withdrawn', async () => {
  const { sent, changes: made, gone } = changes();
  const outcome = made.make(HALF);
  await turn();
  gone();
  expect(await outcome).toBe('the session ended');
  expect(sent).toHaveLength(1);
});

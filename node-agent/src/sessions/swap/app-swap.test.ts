import { ManualClock } from '@footlight/platform/testing';
import { describe, expect, test } from 'vitest';
import { FakeApp } from '../../testing/fake-app.ts';
import { type SwapSteps, swapApps } from './app-swap.ts';

function world(more: Partial<SwapSteps> = {}) {
  const log: string[] = [];
  const clock = new ManualClock();
  const end = new AbortController();
  const fakeApp = (name: string) =>
    new FakeApp((wasRunning) => {
      if (wasRunning) log.push(`stop ${name}`);
    });
  const old = fakeApp('old');
  const next = fakeApp('new');
  const again = fakeApp('old again');
  let draw: () => void = () => undefined;
  const drawn = new Promise<void>((resolve) => {
    draw = resolve;
  });
  let started: () => void = () => undefined;
  const newStarted = new Promise<void>((resolve) => {
    started = resolve;
  });
  const steps: SwapSteps = {
    clock,
    ended: end.signal,
    hint: () => undefined,
    old,
    sharedHome: false,
    bootTimeoutMs: 30_000,
    prepare: async () => void log.push('prepare'),
    watch: async () => {
      log.push('watch');
      return { drawn };
    },
    startNew: async () => {
      log.push('start new');
      started();
      return next;
    },
    startOld: async () => {
      log.push('start old');
      return again;
    },
    ...more,
  };
  return { log, clock, old, next, again, draw, end: () => end.abort(), newStarted, outcome: swapApps(steps) };
}

describe('a change of app', () => {
  test('the old app ends when the new one has drawn, and not before', async () => {
    const { log, newStarted, draw, outcome, next } = world();
    await newStarted;
    expect(log).toEqual(['prepare', 'watch', 'start new']);
    draw();
    expect(await outcome).toEqual({ kind: 'complete', app: next });
    expect(log).toEqual(['prepare', 'watch', 'start new', 'stop old']);
  });

  test('with one home the old app ends before the new one starts', async () => {
    const { log, draw, outcome } = world({ sharedHome: true });
    draw();
    expect(await outcome).toMatchObject({ kind: 'complete' });
    expect(log).toEqual(['prepare', 'stop old', 'watch', 'start new']);
  });

  test.each([
    [1, 'the app exited with status 1 before it drew anything'],
    [0, 'the app ended without showing a window (exit status 0)'],
    [null, 'the app was ended by a signal before it drew anything'],
  ])(
    'the new app exits with %s before it drew: rolled back, and the old one was not touched',
    async (status, error) => {
      const { log, newStarted, next, old, outcome } = world();
      await newStarted;
      next.exit(status);
      expect(await outcome).toEqual({ kind: 'rolled_back', app: old, error });
      expect(log).toEqual(['prepare', 'watch', 'start new']);
    },
  );

  test('the new app draws nothing in time: it ends, the old one continues', async () => {
    const { log, newStarted, clock, old, outcome } = world();
    await newStarted;
    await expect.poll(() => clock.pendingTimers).toBe(1);
    clock.advance(30_000);
    expect(await outcome).toEqual({
      kind: 'rolled_back',
      app: old,
      error: 'the app drew no window within 30 s',
    });
    expect(log).toEqual(['prepare', 'watch', 'start new', 'stop new']);
  });

  test.each([
    ['its home is not released', { prepare: () => Promise.reject(new Error('held')) }],
    ['it cannot be started', { startNew: () => Promise.reject(new Error('held')) }],
  ])('%s: rolled back', async (_what, more) => {
    const { old, outcome } = world(more);
    expect(await outcome).toEqual({ kind: 'rolled_back', app: old, error: 'held' });
  });

  test('the old app has ended first and the new one fails: the old one is restarted', async () => {
    const { log, newStarted, next, again, outcome } = world({ sharedHome: true });
    await newStarted;
    next.exit(1);
    expect(await outcome).toMatchObject({ kind: 'rolled_back', app: again });
    expect(log).toEqual(['prepare', 'stop old', 'watch', 'start new', 'start old']);
  });

  test('the old app ends by itself meanwhile, and the new one draws: complete', async () => {
    const { newStarted, old, draw, next, outcome } = world();
    await newStarted;
    old.exit(0);
    draw();
    expect(await outcome).toEqual({ kind: 'complete', app: next });
  });

  test('neither app starts: lost, with both reasons', async () => {
    const { newStarted, old, next, outcome } = world({
      startOld: () => Promise.reject(new Error('no such program')),
    });
    await newStarted;
    old.exit(1);
    next.exit(2);
    expect(await outcome).toEqual({
      kind: 'lost',
      error: 'the app exited with status 2 before it drew anything; and the former app: no such program',
    });
  });

  test('the session ends meanwhile: the new app ends at once, the old one is left to the teardown', async () => {
    const { log, newStarted, end, outcome } = world();
    await newStarted;
    end();
    expect(await outcome).toEqual({ kind: 'ended' });
    expect(log).toEqual(['prepare', 'watch', 'start new', 'stop new']);
  });

  test('the session ends while leftovers of the old app are being ended: it is not restarted', async () => {
    const { log, newStarted, end, old, next, outcome } = world({ sharedHome: true });
    await newStarted;
    old.onStop = end;
    next.exit(1);
    expect(await outcome).toEqual({ kind: 'ended' });
    expect(log).not.toContain('start old');
  });

  test('a new app that cannot be ended: lost, because the old one must not run at the same time', async () => {
    const { newStarted, next, clock, outcome } = world();
    await newStarted;
    next.onStop = () => {
      throw new Error('the app does not end');
    };
    await expect.poll(() => clock.pendingTimers).toBe(1);
    clock.advance(30_000);
    expect(await outcome).toEqual({
      kind: 'lost',
      error: 'the app drew no window within 30 s; and the new app: the app does not end',
    });
  });
});

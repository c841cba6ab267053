import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../testing/index.ts';
import { TimerWheel } from './timer-wheel.ts';

describe('the timer wheel', () => {
  test('fires once, never early, and at most one tick late', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 200_000 }), { maxLength: 20 }), async (delays) => {
        const clock = new ManualClock();
        const wheel = new TimerWheel(clock);
        const start = clock.monotonicMs();
        const fired: { delay: number; at: number }[] = [];
        for (const delay of delays) {
          wheel.schedule(delay, () => fired.push({ delay, at: clock.monotonicMs() - start }));
        }
        for (let moved = 0; moved <= 201_000; moved += 67_000) await clock.pass(67_000);
        expect(fired).toHaveLength(delays.length);
        for (const { delay, at } of fired) {
          expect(at).toBeGreaterThanOrEqual(delay);
          expect(at).toBeLessThanOrEqual(delay + 500);
        }
        expect(wheel.size).toBe(0);
      }),
      { numRuns: 5 },
    );
  });

  test('a cancelled deadline never fires, and cancelling twice is nothing', async () => {
    const clock = new ManualClock();
    const wheel = new TimerWheel(clock);
    const timer = wheel.schedule(1_000, () => expect.unreachable());
    timer.cancel();
    timer.cancel();
    expect(wheel.size).toBe(0);
    await clock.pass(5_000);
  });

  test('a deadline may set the next one', async () => {
    const clock = new ManualClock();
    const wheel = new TimerWheel(clock);
    let rounds = 0;
    const again = () => {
      rounds += 1;
      if (rounds < 5) wheel.schedule(1_000, again);
    };
    wheel.schedule(1_000, again);
    await clock.pass(10_000);
    expect(rounds).toBe(5);
  });

  test('a suspended process catches up in order', async () => {
    const clock = new ManualClock();
    const order: string[] = [];
    // The time jumps between two ticks, like after SIGSTOP and SIGCONT.
    let now = 0;
    const stopped = {
      nowMs: () => now,
      monotonicMs: () => now,
      setTimeout: clock.setTimeout.bind(clock),
      setInterval: clock.setInterval.bind(clock),
    };
    const wheel = new TimerWheel(stopped);
    wheel.schedule(9_000, () => order.push('later'));
    wheel.schedule(1_000, () => order.push('earlier'));
    now = 60_000;
    await clock.pass(250);
    expect(order).toEqual(['earlier', 'later']);
  });

  test.each([
    ['forth', 366 * 86_400_000],
    ['back', -366 * 86_400_000],
  ])('the wall clock may jump a year %s: a deadline comes neither sooner nor later', async (_where, byMs) => {
    const clock = new ManualClock();
    const wheel = new TimerWheel(clock);
    const fired: string[] = [];
    wheel.schedule(1_000, () => fired.push('set before'));
    await clock.pass(250);
    clock.jump(byMs);
    wheel.schedule(1_000, () => fired.push('set after'));
    await clock.pass(500);
    expect(fired).toEqual([]);
    await clock.pass(250);
    expect(fired).toEqual(['set before']);
    await clock.pass(250);
    expect(fired).toEqual(['set before', 'set after']);
  });

  test('a closed wheel accepts nothing and keeps no timer', async () => {
    const clock = new ManualClock();
    const wheel = new TimerWheel(clock);
    wheel.schedule(1_000, () => expect.unreachable());
    wheel.close();
    wheel.schedule(1_000, () => expect.unreachable());
    expect(wheel.size).toBe(0);
    await clock.pass(5_000);
  });
});

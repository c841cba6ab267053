import { ManualClock } from '@footlight/platform/testing';
import { describe, expect, test } from 'vitest';
import { IdleTimer } from './idle-timer.ts';

describe('the idle time-out', () => {
  function timer(idleMs = 1_000) {
    const clock = new ManualClock();
    let fired = 0;
    const idle = new IdleTimer(clock, idleMs, () => {
      fired += 1;
    });
    return { clock, idle, fired: () => fired };
  }

  test('counts from running, and from the last disconnect', () => {
    const { clock, idle, fired } = timer();
    clock.advance(5_000);
    idle.running = true;
    clock.advance(500);
    idle.viewer = true;
    clock.advance(5_000);
    idle.viewer = false;
    clock.advance(999);
    expect(fired()).toBe(0);
    clock.advance(1);
    expect(fired()).toBe(1);
  });

  test('pauses while the control plane is unreachable, and then restarts', () => {
    const { clock, idle, fired } = timer();
    idle.running = true;
    clock.advance(900);
    idle.linkUp = false;
    clock.advance(60_000);
    idle.linkUp = true;
    clock.advance(999);
    expect(fired()).toBe(0);
    clock.advance(1);
    expect(fired()).toBe(1);
  });

  test('gives the seconds until it fires: null with a viewer, undefined if unknown', () => {
    const { clock, idle } = timer(600_000);
    expect(idle.endsInS).toBeUndefined();
    idle.running = true;
    clock.advance(1_500);
    expect(idle.endsInS).toBe(599);
    idle.viewer = true;
    expect(idle.endsInS).toBeNull();
    idle.viewer = false;
    expect(idle.endsInS).toBe(600);
    idle.linkUp = false;
    expect(idle.endsInS).toBeUndefined();
    idle.linkUp = true;
    clock.advance(600_000);
    expect(idle.endsInS).toBe(0);
  });

  test('0 is never', () => {
    const { clock, idle, fired } = timer(0);
    idle.running = true;
    expect(idle.endsInS).toBeNull();
    clock.advance(1e9);
    expect(fired()).toBe(0);
  });
});

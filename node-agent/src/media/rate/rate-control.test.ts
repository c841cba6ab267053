import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readMediaSettings } from '../session/media-settings.ts';
import type { PathView } from './estimate.ts';
import { type RateAction, RateControl } from './rate-control.ts';

const LAUNCH = 5000;

function control(settings: Record<string, unknown> = {}, floorKbps = 1500): RateControl {
  return new RateControl(readMediaSettings(settings), { launchKbps: LAUNCH, floorKbps });
}

const path = (kbps: number | null, over: Partial<PathView> = {}): PathView => {
  return { kbps, queueingDelayMs: 0, longQueueSinceMs: null, ...over };
};

const kinds = (actions: readonly RateAction[]) => actions.map(({ kind }) => kind);

/** Creates a rate control whose link has just fallen to 1000 kbit/s (a cliff). Its queue is empty at time 1000. */
function fallen(): RateControl {
  const rate = control();
  rate.step(path(1000), 0);
  rate.drained(1000);
  return rate;
}

describe('mode off', () => {
  test('the launch bitrate stays on any path', () => {
    const rate = control({ abr_mode: 'off' });
    expect(rate.step(path(100, { queueingDelayMs: 900, longQueueSinceMs: 0 }), 5_000)).toEqual([]);
    expect(rate.setpointKbps).toBe(LAUNCH);
  });
});

describe('cliff', () => {
  test.each(['smooth', 'protective'])('%s: an estimate below half the setpoint', (abr_mode) => {
    const rate = control({ abr_mode });
    expect(rate.step(path(2400), 0)).toEqual([
      { kind: 'retarget', fromKbps: 5000, toKbps: 2160, reason: 'network_down' },
      { kind: 'hold' },
    ]);
    expect(rate.isDraining).toBe(true);
  });

  test('an estimate below the setpoint while the queue has been over 100 ms for 300 ms', () => {
    const rate = control();
    const queue = { queueingDelayMs: 150, longQueueSinceMs: 1_000 };
    expect(kinds(rate.step(path(4000, queue), 1_299))).toEqual([]);
    expect(kinds(rate.step(path(4000, queue), 1_300))).toEqual(['retarget', 'hold']);
  });

  test('a long queue alone is no cliff', () => {
    expect(control().step(path(6000, { queueingDelayMs: 300, longQueueSinceMs: 0 }), 1_000)).toEqual([]);
  });

  test('while the queue drains the rate only falls, and nothing is probed', () => {
    const rate = control();
    rate.step(path(1000), 0);
    expect(rate.step(path(4000), 100)).toEqual([]);
    expect(kinds(rate.step(path(500), 200))).toEqual(['retarget']);
    expect(rate.setpointKbps).toBe(450);
  });
});

describe('after a cliff', () => {
  test('the rate climbs by 8 % per 200 ms up to the estimate', () => {
    const rate = fallen();
    const steps: number[] = [];
    for (let nowMs = 1_100; nowMs <= 1_800; nowMs += 100) {
      rate.step(path(1000), nowMs);
      steps.push(rate.setpointKbps);
    }
    expect(steps).toEqual([900, 972, 972, 1000, 1000, 1000, 1000, 1000]);
  });

  test('a fractional estimate is reached and kept, and the path then counts as calm', () => {
    const rate = fallen();
    const actions: RateAction[] = [];
    for (let nowMs = 1_100; nowMs <= 2_500; nowMs += 60) actions.push(...rate.step(path(933.6), nowMs));
    expect(rate.setpointKbps).toBe(933);
    expect(
      actions.filter((action) => action.kind === 'retarget' && action.reason === 'network_down'),
    ).toEqual([]);
    expect(kinds(actions)).toContain('probe');
  });

  test('after a calm second it probes at twice the rate, once at a time', () => {
    const rate = fallen();
    let probes: RateAction[] = [];
    for (let nowMs = 1_100; nowMs <= 4_000; nowMs += 100) {
      probes = [...probes, ...rate.step(path(900), nowMs).filter(({ kind }) => kind === 'probe')];
    }
    expect(probes).toEqual([{ kind: 'probe', kbps: 1800 }]);
  });

  test('a clean probe sets the rate at once to 0.85 of the received rate, an unclean one does not change it', () => {
    const rate = fallen();
    rate.step(path(900), 2_000);
    expect(rate.probed(null, 2_200)).toEqual([]);
    rate.step(path(900), 3_300);
    expect(rate.probed(2000, 3_500)).toMatchObject([{ toKbps: 1700, reason: 'network_up' }]);
  });

  test('no probe sends more than is needed to return to the earlier setpoint', () => {
    const rate = fallen();
    rate.step(path(900), 2_000);
    rate.probed(4_000, 2_200);
    expect(rate.setpointKbps).toBe(3_400);
    const probes: RateAction[] = [];
    for (let nowMs = 2_300; nowMs <= 3_700; nowMs += 100) {
      probes.push(...rate.step(path(3_400), nowMs).filter(({ kind }) => kind === 'probe'));
    }
    expect(probes).toEqual([{ kind: 'probe', kbps: LAUNCH / 0.85 }]);
  });

  test('a path with a queue is not calm', () => {
    const rate = fallen();
    for (let nowMs = 1_100; nowMs <= 6_000; nowMs += 100) {
      expect(kinds(rate.step(path(900, { queueingDelayMs: 60 }), nowMs))).toEqual([]);
    }
  });

  test('a link that stays slow is probed ever more seldom', () => {
    const rate = fallen();
    const probedAt: number[] = [];
    for (let nowMs = 1_100; nowMs <= 60_000; nowMs += 100) {
      if (!kinds(rate.step(path(900), nowMs)).includes('probe')) continue;
      probedAt.push(nowMs);
      rate.probed(null, nowMs + 50);
    }
    const pauses = probedAt.slice(1).map((at, i) => at - (probedAt[i] ?? at));
    expect(pauses[0]).toBeLessThan(1_300);
    expect(pauses.at(-1)).toBeGreaterThan(5_000);
  });

  test('it ends at the earlier setpoint, and the mode’s rules apply again', () => {
    const rate = fallen();
    rate.step(path(900), 2_000);
    rate.probed(9_000, 2_200);
    expect(rate.setpointKbps).toBe(LAUNCH);
    expect(rate.isCongested).toBe(false);
  });

  test('an estimate below the rate lowers it without another keyframe; far below, it is a new cliff', () => {
    const rate = fallen();
    expect(kinds(rate.step(path(800), 1_200))).toEqual(['retarget']);
    expect(kinds(rate.step(path(300), 1_300))).toEqual(['retarget', 'hold']);
    rate.drained(2_000);
    rate.step(path(200), 4_000);
    rate.probed(50_000, 4_200);
    expect(rate.setpointKbps).toBe(LAUNCH);
  });

  test('the floor does not raise the rate during the climb', () => {
    const rate = fallen();
    rate.step(path(1600), 1_200);
    expect(rate.setpointKbps).toBeLessThan(1500);
  });
});

describe('operator', () => {
  test('a target is clamped to the floor and the launch bitrate', () => {
    const rate = control();
    expect(rate.tune(10, 1500, 0)).toMatchObject([{ toKbps: 1500, reason: 'operator' }]);
    expect(rate.tune(9_999_999, 1500, 0)).toMatchObject([{ toKbps: LAUNCH }]);
  });

  test('with a mode on it is a starting point and not fixed', () => {
    const rate = control();
    rate.tune(2000, 1500, 0);
    for (let nowMs = 0; nowMs < 10_000; nowMs += 100) rate.step(path(7000), nowMs);
    expect(rate.setpointKbps).toBeGreaterThan(4_000);
  });
});

test('for any reports the rate stays between 100 kbit/s and the launch bitrate, and every hold is ordered once', () => {
  const event = fc.oneof(
    fc.record({
      do: fc.constant('step' as const),
      kbps: fc.double({ min: 1, max: 20_000, noNaN: true }),
      queue: fc.integer({ min: 0, max: 2_000 }),
    }),
    fc.record({ do: fc.constant('drained' as const) }),
    fc.record({ do: fc.constant('probed' as const), kbps: fc.option(fc.integer({ min: 0, max: 50_000 })) }),
    fc.record({ do: fc.constant('reset' as const) }),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 200 }), (events) => {
      const rate = control();
      let longQueueSinceMs: number | null = null;
      events.forEach((step, i) => {
        const nowMs = i * 60;
        const wasDraining = rate.isDraining;
        let actions: RateAction[] = [];
        if (step.do === 'step') {
          longQueueSinceMs = step.queue > 100 ? (longQueueSinceMs ?? nowMs) : null;
          actions = rate.step(path(step.kbps, { queueingDelayMs: step.queue, longQueueSinceMs }), nowMs);
        } else if (step.do === 'drained') rate.drained(nowMs);
        else if (step.do === 'probed') actions = rate.probed(step.kbps, nowMs);
        else rate.reset();
        expect(rate.setpointKbps).toBeGreaterThanOrEqual(100);
        expect(rate.setpointKbps).toBeLessThanOrEqual(LAUNCH);
        expect(kinds(actions).includes('hold')).toBe(!wasDraining && rate.isDraining);
      });
    }),
  );
});

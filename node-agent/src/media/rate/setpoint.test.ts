import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readMediaSettings } from '../session/media-settings.ts';
import { SetpointFollower } from './setpoint.ts';

const LAUNCH = 5000;
const FLOOR = 1500;

/** Follows a constant or changing estimate with ten updates a second. @returns the changes with their times */
function follow(
  settings: Record<string, unknown>,
  setpointKbps: number,
  estimateAt: (ms: number) => number,
  forMs: number,
  floorKbps = FLOOR,
) {
  const follower = new SetpointFollower(readMediaSettings(settings));
  const changes: { atMs: number; kbps: number; reason: string }[] = [];
  let setpoint = setpointKbps;
  follower.restart(setpoint, 0);
  for (let nowMs = 100; nowMs <= forMs; nowMs += 100) {
    const facts = { setpointKbps: setpoint, estimateKbps: estimateAt(nowMs), floorKbps, launchKbps: LAUNCH };
    follower.sample(facts, nowMs);
    const change = follower.decide(facts, nowMs);
    if (!change) continue;
    setpoint = change.kbps;
    changes.push({ atMs: nowMs, kbps: setpoint, reason: change.reason });
  }
  return { changes, setpoint };
}

describe('smooth', () => {
  test('a change smaller than the dead band is skipped', () => {
    expect(follow({}, 4000, () => 4500, 20_000).changes).toEqual([]);
    expect(follow({}, 4000, () => 3500, 20_000).changes).toEqual([]);
  });

  test('up by at most a quarter of the setpoint, once a second, to the launch bitrate', () => {
    const { changes, setpoint } = follow({}, 2000, () => 9000, 10_000);
    expect(changes.map(({ kbps }) => kbps)).toEqual([2500, 3125, 3906, 4883]);
    expect(changes.slice(1).map(({ atMs }, i) => atMs - (changes[i]?.atMs ?? 0))).toEqual([1000, 1000, 1000]);
    expect(changes.every(({ reason }) => reason === 'network_up')).toBe(true);
    expect(setpoint).toBeLessThanOrEqual(LAUNCH);
  });

  test('down only after the average was below for the dwell, and then by at most an eighth a step', () => {
    const { changes } = follow({}, 4000, () => 2800, 9_000);
    expect(changes[0]?.atMs).toBeGreaterThanOrEqual(7_000);
    expect(changes[0]).toMatchObject({ kbps: 3500, reason: 'network_down' });
    expect(changes[1]).toMatchObject({ kbps: 3063 });
  });

  test('a dip shorter than the dwell changes nothing', () => {
    expect(follow({}, 4000, (ms) => (ms < 5_000 ? 2800 : 4200), 30_000).changes).toEqual([]);
  });
});

describe('protective', () => {
  test('the estimate is followed down at once, without dwell and step limit', () => {
    const { changes } = follow({ abr_mode: 'protective' }, 4000, () => 2800, 1_000);
    expect(changes).toEqual([{ atMs: 100, kbps: 2800, reason: 'network_down' }]);
  });

  test('up as in smooth', () => {
    const { changes } = follow({ abr_mode: 'protective' }, 2000, () => 9000, 3_000);
    expect(changes.map(({ kbps }) => kbps).slice(0, 2)).toEqual([2500, 3125]);
  });
});

describe('floor', () => {
  test.each(['smooth', 'protective'])(
    '%s: below it the setpoint is 0.9 of the estimate at once',
    (abr_mode) => {
      const { changes } = follow({ abr_mode }, 4000, () => 1000, 200);
      expect(changes).toEqual([{ atMs: 100, kbps: 900, reason: 'floor' }]);
    },
  );

  test('never below 100 kbit/s', () => {
    expect(follow({}, 4000, () => 60, 200).setpoint).toBe(100);
  });

  test('the floor raises it only after the estimate was at or above it for a second', () => {
    const { changes } = follow({}, 4000, (ms) => (ms < 1000 ? 1000 : 2000), 3_000);
    const raised = changes.find(({ kbps }) => kbps === FLOOR);
    expect(raised?.atMs).toBe(1900);
  });

  test('otherwise nothing goes below it', () => {
    const { setpoint } = follow({ abr_mode: 'protective' }, 4000, () => 1550, 1_000);
    expect(setpoint).toBeGreaterThanOrEqual(FLOOR);
  });
});

describe('an estimate that a viewer fakes', () => {
  /**
   * Runs ten seconds with a hundred updates a second, the largest possible number of reports.
   * @returns the number of changes
   */
  function changesOf(abr_mode: string, estimateAt: (look: number) => number): number {
    const follower = new SetpointFollower(readMediaSettings({ abr_mode }));
    let setpointKbps = LAUNCH;
    let changes = 0;
    for (let look = 0; look < 1_000; look++) {
      const facts = { setpointKbps, estimateKbps: estimateAt(look), floorKbps: 3000, launchKbps: LAUNCH };
      follower.sample(facts, look * 10);
      const change = follower.decide(facts, look * 10);
      if (!change) continue;
      setpointKbps = change.kbps;
      changes++;
    }
    return changes;
  }

  test.each(['smooth', 'protective'])(
    '%s: alternating below the floor, it changes the encoder twice a second, not with every report',
    (mode) => {
      expect(changesOf(mode, (look) => (look % 2 ? 1500 : 2300))).toBeLessThanOrEqual(22);
    },
  );

  test.each(['smooth', 'protective'])('%s: a slow fall changes it a few times a second', (mode) => {
    expect(changesOf(mode, (look) => 2900 * 0.975 ** (look % 100))).toBeLessThanOrEqual(70);
  });
});

test('for any estimates the setpoint stays between 100 kbit/s and the launch bitrate', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('smooth', 'protective'),
      fc.array(fc.double({ min: 1, max: 1e6, noNaN: true }), { minLength: 5, maxLength: 60 }),
      (abr_mode, estimates) => {
        const at = (ms: number) => estimates[Math.floor(ms / 500) % estimates.length] ?? 1;
        const { changes } = follow({ abr_mode }, LAUNCH, at, estimates.length * 500);
        for (const { kbps } of changes) {
          expect(kbps).toBeGreaterThanOrEqual(100);
          expect(kbps).toBeLessThanOrEqual(LAUNCH);
        }
      },
    ),
  );
});

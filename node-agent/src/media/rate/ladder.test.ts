import { describe, expect, test } from 'vitest';
import { readMediaSettings } from '../session/media-settings.ts';
import { Ladder, type LadderFacts, type LadderWindow } from './ladder.ts';

const FULL_HD: LadderFacts = {
  width: 1920,
  height: 1080,
  fps: 60,
  launchKbps: 8000,
  rungs: [
    [1920, 1080],
    [1600, 900],
    [1280, 720],
  ],
  effortSteps: 0,
};

function ladder(settings: Record<string, unknown>, facts: Partial<LadderFacts> = {}): Ladder {
  return new Ladder(readMediaSettings(settings), { ...FULL_HD, ...facts });
}

const quiet: LadderWindow = { encodeP95Ms: 5, setpointKbps: 8000, pinned: false };

/** Calls the ladder for a number of identical seconds. @returns the ladder's rung after each second */
function seconds(subject: Ladder, count: number, facts: Partial<LadderWindow>, fromS = 0): string[] {
  return Array.from({ length: count }, (_, i) => {
    subject.window({ ...quiet, ...facts }, (fromS + i + 1) * 1000);
    const { height, fps } = subject.level;
    return `${height}@${fps}`;
  });
}

describe('effort', () => {
  test('two slow windows make the encoder one step faster, up to the limit; two fast ones take a step back', () => {
    const subject = ladder({}, { effortSteps: 5 });
    const bias = (encodeP95Ms: number) => {
      subject.window({ ...quiet, encodeP95Ms }, 0);
      return subject.level.speedBias;
    };
    expect([16, 16, 16, 16, 16, 16].map(bias)).toEqual([0, 1, 1, 2, 2, 2]);
    expect([13, 13, 13].map(bias)).toEqual([2, 2, 2]);
    expect([5, 5, 5, 5].map(bias)).toEqual([2, 1, 1, 0]);
  });

  test('an encoder without steps is not changed, and windows without frames are ignored', () => {
    const subject = ladder({});
    for (let i = 0; i < 9; i++) subject.window({ ...quiet, encodeP95Ms: 30 }, i * 1000);
    expect(subject.level.speedBias).toBe(0);
    expect(ladder({}, { effortSteps: 1 }).window({ ...quiet, encodeP95Ms: null }, 0)).toBe(false);
  });
});

describe('size', () => {
  test('by default it never changes', () => {
    expect(new Set(seconds(ladder({}), 30, { setpointKbps: 500 }))).toEqual(new Set(['1080@60']));
  });

  test('two low windows select the next smaller size, one change per 10 s, not below 720 lines', () => {
    const subject = ladder({ abr_ladder_resolution: true });
    const stands = seconds(subject, 30, { setpointKbps: 1000 });
    expect(stands[0]).toBe('1080@60');
    expect(stands[1]).toBe('900@60');
    expect(stands[10]).toBe('900@60');
    expect(stands[11]).toBe('720@60');
    expect(stands.at(-1)).toBe('720@60');
  });

  test('the needed rate falls with the pixels: at 900 lines, 3300 of 8000 kbit/s are enough', () => {
    const subject = ladder({ abr_ladder_resolution: true });
    // At 1080 lines the need is 0.6 × 8000 = 4800; at 900 lines it is 0.6 × 8000 × (0.694 ^ 0.75) = 3651.
    expect(seconds(subject, 30, { setpointKbps: 3700 }).at(-1)).toBe('900@60');
  });

  test('back up when the rate is enough for the larger size', () => {
    const subject = ladder({ abr_ladder_resolution: true });
    seconds(subject, 2, { setpointKbps: 3700 });
    expect(seconds(subject, 20, { setpointKbps: 6300 }, 20).at(-1)).toBe('900@60');
    expect(seconds(subject, 3, { setpointKbps: 6500 }, 60)).toEqual(['900@60', '1080@60', '1080@60']);
  });

  test('a pinned size is not changed', () => {
    const subject = ladder({ abr_ladder_resolution: true });
    expect(seconds(subject, 30, { setpointKbps: 500, pinned: true }).at(-1)).toBe('1080@60');
    expect(subject.cliff(500, true, 99_000)).toBe(false);
  });

  test('the floor follows the current size, unless it is fixed', () => {
    const subject = ladder({ abr_ladder_resolution: true });
    subject.cliff(500, false, 0);
    expect(subject.floorShare).toBeCloseTo((1280 * 720) / (1920 * 1080));
    const fixed = ladder({ abr_ladder_resolution: true, abr_ladder_floor_follows_rung: false });
    fixed.cliff(500, false, 0);
    expect(fixed.floorShare).toBe(1);
  });
});

describe('order of size and rate', () => {
  const both = { abr_ladder_resolution: true, abr_ladder_fps: true };
  const walk = (settings: Record<string, unknown>, facts: Partial<LadderFacts> = {}) => {
    const subject = ladder({ ...both, abr_ladder_res_min_step_s: 5, ...settings }, facts);
    return [...new Set(seconds(subject, 40, { setpointKbps: 400 }))];
  };

  test.each([
    ['res_first', ['1080@60', '900@60', '720@60', '720@30']],
    ['fps_first', ['1080@60', '1080@30', '900@30', '720@30']],
    ['hybrid', ['1080@60', '1080@30', '900@30', '720@30']],
  ])('%s', (abr_ladder_order, expected) => {
    expect(walk({ abr_ladder_order })).toEqual(expected);
  });

  test('hybrid: size down to 1080 lines, then the rate, then size', () => {
    const facts: Partial<LadderFacts> = {
      width: 2560,
      height: 1440,
      rungs: [
        [2560, 1440],
        [1920, 1080],
        [1280, 720],
      ],
    };
    expect(walk({}, facts)).toEqual(['1440@60', '1080@60', '1080@30', '720@30']);
  });

  test('the way back is the reverse', () => {
    const subject = ladder({ ...both, abr_ladder_res_min_step_s: 5 });
    subject.cliff(400, false, 0);
    const stands = [...new Set(seconds(subject, 60, { setpointKbps: 8000 }, 10))];
    expect(stands).toEqual(['720@30', '900@30', '1080@30', '1080@60']);
  });

  test('rate alone', () => {
    expect([...new Set(seconds(ladder({ abr_ladder_fps: true }), 30, { setpointKbps: 400 }))]).toEqual([
      '1080@60',
      '1080@30',
    ]);
  });
});

describe('cliff', () => {
  test('takes all needed steps at once, ignoring dwell and pause', () => {
    const subject = ladder({ abr_ladder_resolution: true, abr_ladder_fps: true });
    expect(subject.cliff(400, false, 0)).toBe(true);
    expect(subject.level).toMatchObject({ height: 720, fps: 30 });
  });

  test('takes no further steps', () => {
    const subject = ladder({ abr_ladder_resolution: true });
    subject.cliff(3700, false, 0);
    expect(subject.level.height).toBe(900);
  });

  test('does nothing if no reduction is enabled', () => {
    expect(ladder({}).cliff(400, false, 0)).toBe(false);
    expect(ladder({ abr_ladder: false, abr_ladder_resolution: true }).cliff(400, false, 0)).toBe(false);
  });
});

import { describe, expect, test } from 'vitest';
import { BurstStats } from './burst-stats.ts';

describe('a burst', () => {
  test('measures each frame of each window', () => {
    const burst = new BurstStats(1_000);
    burst.captured(1);
    burst.captured(3);
    burst.encoded(1_010, 1_000, 4);
    burst.encoded(1_043.5, 1_500, 5.25);
    burst.encoded(1_060, 500, null);
    burst.dropped(2);
    burst.endWindow(1_100, { abr_setpoint_kbps: 6_000, gcc_estimate_kbps: 7_000 });
    burst.endWindow(1_200, {});
    expect(burst.windows).toEqual([
      {
        t_ms: 0,
        encode_ms: { n: 2, p50: 4.625, p95: 5.188, max: 5.25, samples: [4, 5.25] },
        dwell_ms: { n: 1, p50: 0, p95: 0, max: 0 },
        fps: 30,
        bitrate_kbps: 240,
        frames_dropped: 2,
        queue_level_max: 3,
        abr_setpoint_kbps: 6_000,
        gcc_estimate_kbps: 7_000,
      },
      {
        t_ms: 100,
        encode_ms: { n: 0, p50: null, p95: null, max: null, samples: [] },
        dwell_ms: { n: 0, p50: null, p95: null, max: null },
        fps: 0,
        bitrate_kbps: 0,
        frames_dropped: 0,
        queue_level_max: 0,
      },
    ]);
  });

  test('a frame that arrived before its predecessor left has waited until then', () => {
    const burst = new BurstStats(0);
    burst.encoded(30, 1, 20);
    // The frame arrived at 15, and the encoder became free at 30.
    burst.encoded(50, 1, 35);
    burst.endWindow(100, {});
    expect(burst.windows[0]?.dwell_ms).toEqual({ n: 1, p50: 15, p95: 15, max: 15 });
  });

  test('lists at most 200 frames of a window but counts all', () => {
    const burst = new BurstStats(0);
    for (let n = 0; n < 240; n += 1) burst.encoded(n, 1, 1);
    burst.endWindow(1_000, {});
    expect(burst.windows[0]?.encode_ms).toMatchObject({ n: 240, samples: { length: 200 } });
  });
});

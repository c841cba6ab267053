import { describe, expect, test } from 'vitest';
import { FreezeDetector, Presentation } from './presentation.ts';

describe('presentation', () => {
  const shown = (intervals: number[]) => {
    const presentation = new Presentation();
    let displayMs = 0;
    presentation.add({ mediaTime: 0, displayMs, captureToDisplayMs: 30 });
    for (const [index, interval] of intervals.entries()) {
      displayMs += interval;
      presentation.add({ mediaTime: index + 1, displayMs, captureToDisplayMs: 30 + index });
    }
    return presentation.take();
  };

  test('an even second has no deviation and no long frame', () => {
    expect(shown(Array(60).fill(10))).toMatchObject({
      present_n: 60,
      present_fps_median: 100,
      present_interval_sd_ms: 0,
      present_beat_fraction: 0,
      present_long_frames: 0,
      rvfc_capture_time_available: true,
    });
  });

  test('doubled and long intervals are counted', () => {
    const metrics = shown([10, 10, 10, 10, 20, 10, 21, 10, 30]);
    expect(metrics.present_beat_fraction).toBeCloseTo(2 / 9);
    expect(metrics.present_long_frames).toBe(1);
    expect(metrics.present_interval_max_ms).toBe(30);
  });

  test('below five intervals only their number is reported', () => {
    const metrics = shown([10, 10, 10]);
    expect(metrics.present_n).toBe(3);
    expect(metrics.present_fps_median).toBeUndefined();
  });

  test('showing the same frame twice is not an interval', () => {
    const presentation = new Presentation();
    presentation.add({ mediaTime: 1, displayMs: 0, captureToDisplayMs: null });
    expect(presentation.add({ mediaTime: 1, displayMs: 16, captureToDisplayMs: null })).toBeNull();
    expect(presentation.take()).toEqual({ present_n: 0, rvfc_capture_time_available: false });
  });

  test('a freeze is an interval of three times the usual one and 150 ms more', () => {
    const freezes = new FreezeDetector();
    const steady = Array.from({ length: 10 }, () => freezes.add(16));
    expect(steady).not.toContain(true);
    expect(freezes.add(160)).toBe(false);
    expect(freezes.add(400)).toBe(true);
  });
});

import { expect, test } from 'vitest';
import { mostUsedPath, type Sample, seriesOf } from './series.ts';

const sample = (source: Sample['source'], ts_unix_ms: number, metrics: Record<string, unknown>): Sample => ({
  source,
  ts_unix_ms,
  metrics,
});

test('the same key is another series of each end, and only viewers are moved', () => {
  const samples = [
    sample('agent', 1_000, { fps: 60 }),
    sample('browser', 2_000, { fps: 58 }),
    sample('native', 3_000, { fps: 57 }),
    sample('agent', 6_000, { fps: 61 }),
  ];
  expect(seriesOf(samples, -35)).toEqual({
    'encoder.fps': [
      { ts_unix_ms: 1_000, v: 60 },
      { ts_unix_ms: 6_000, v: 61 },
    ],
    'client.fps': [
      { ts_unix_ms: 1_965, v: 58 },
      { ts_unix_ms: 2_965, v: 57 },
    ],
  });
});

test('booleans are 1 and 0; texts, nulls and unknown keys are left out', () => {
  const metrics = {
    is_hidden: true,
    rvfc_capture_time_available: false,
    rtt_ms: 'long',
    jitter_ms: null,
    x: 1,
  };
  expect(seriesOf([sample('browser', 5, metrics)], 0)).toEqual({
    'client.is_hidden': [{ ts_unix_ms: 5, v: 1 }],
    'client.rvfc_capture_time_available': [{ ts_unix_ms: 5, v: 0 }],
  });
});

test.each([
  [true, 4],
  [1, 4],
  [false, 0],
  [undefined, 0],
])('four series need a capture time: with %j %i of them are there', (rvfc_capture_time_available, count) => {
  const metrics = {
    rvfc_capture_time_available,
    decode_display_ms: 1,
    glass_to_glass_ms: 2,
    rvfc_capture_to_display_ms: 3,
    network_pacing_ms: 4,
  };
  const names = Object.keys(seriesOf([sample('browser', 5, metrics)], 0));
  expect(names.filter((name) => name !== 'client.rvfc_capture_time_available')).toHaveLength(count);
});

test('the path is that of most samples of viewers; unknown paths and those of hosts do not count', () => {
  const paths = (...given: [Sample['source'], unknown][]) =>
    mostUsedPath(given.map(([source, path], at) => sample(source, at, { fps: 60, path })));
  expect(paths(['browser', 'udp'], ['browser', 'tcp'], ['native', 'tcp'])).toBe('tcp');
  expect(paths(['agent', 'tcp'], ['browser', 'pigeon'])).toBeNull();
});

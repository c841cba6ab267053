import { describe, expect, test } from 'vitest';
import { deriveWindows } from './derived-windows.ts';
import { constant, FROM_MS, factsWith, pointsOf } from './testing/window-facts.ts';

const at = (seconds: number) => FROM_MS + seconds * 1_000;

describe('the parts of a window that stand out', () => {
  test('a quiet one has none', () => {
    expect(deriveWindows(factsWith({}))).toEqual({
      hitches: [],
      abr_downshifts: [],
      encoder_saturation: [],
      likely_network_congestion: [],
    });
  });

  test.each([
    [
      'runs, each with its largest deviation',
      [2, 18, 40, 19, 17.99, 18],
      [
        [1, 3, 40],
        [5, 5, 18],
      ],
    ],
    ['from the first to the last sample', [18, 18], [[0, 1, 18]]],
    ['none of one hitch', [2, 90, 2], []],
    ['none just below the limit', [17.99, 17.99], []],
  ] as const)('hitches: %s', (_what, values, runs) => {
    const { hitches } = deriveWindows(factsWith({ 'client.present_interval_sd_ms': values }));
    expect(hitches).toEqual(
      runs.map(([from, to, sigma]) => ({
        from_ms: at(from),
        to_ms: at(to),
        present_interval_sd_ms: sigma,
      })),
    );
  });

  test('hitches of the warm-up do not count', () => {
    const facts = factsWith({ 'client.present_interval_sd_ms': constant(40, 25) }, { startedAtMs: FROM_MS });
    expect(deriveWindows(facts).hitches).toEqual([
      { from_ms: at(20), to_ms: at(24), present_interval_sd_ms: 40 },
    ]);
  });

  test('downshifts: each drop between two targets, and no rise', () => {
    const facts = factsWith({ 'abr.setpoint_kbps': [8_000, 8_000, 6_000, 7_000, 6_999, 500] });
    expect(deriveWindows(facts).abr_downshifts).toEqual([
      { ts_unix_ms: at(2), from_kbps: 8_000, to_kbps: 6_000 },
      { ts_unix_ms: at(4), from_kbps: 7_000, to_kbps: 6_999 },
      { ts_unix_ms: at(5), from_kbps: 6_999, to_kbps: 500 },
    ]);
  });

  test('saturation: runs at or over the ceiling, of one sample too', () => {
    const facts = factsWith({ 'encoder.encode_ms_p95': [16, 15.99, 17, 20] });
    expect(deriveWindows(facts).encoder_saturation).toEqual([
      { from_ms: at(0), to_ms: at(0), encode_ms_p95: 16 },
      { from_ms: at(10), to_ms: at(15), encode_ms_p95: 20 },
    ]);
  });

  test('the limits follow the frame rate: 32 ms for a frame of 33 ms', () => {
    const facts = factsWith({ 'encoder.encode_ms_p95': [31.99, 32] }, { fps: 30 });
    expect(deriveWindows(facts).encoder_saturation).toEqual([
      { from_ms: at(5), to_ms: at(5), encode_ms_p95: 32 },
    ]);
  });

  test.each([
    [[0, 5], 51, []],
    [[0, 6], 50, []],
    [[6], 51, []],
    [[0, 6], 51, [{ packets_lost_delta: 6, rtt_ms_p95: 51 }]],
    [[100, 103, 0, 3], 51, [{ packets_lost_delta: 6, rtt_ms_p95: 51 }]],
  ])('congestion: lost packets %j at %s ms: %j', (lost, rtt, found) => {
    const facts = factsWith({ 'transport.packets_lost': lost, 'transport.rtt_ms': constant(rtt) });
    expect(deriveWindows(facts).likely_network_congestion).toEqual(
      found.map((values) => ({ ...values, from_ms: FROM_MS, to_ms: FROM_MS + 300_000 })),
    );
  });

  test('points outside the window do not count', () => {
    const facts = factsWith({});
    const late = pointsOf('encoder.encode_ms_p95', [90, 90], FROM_MS + 300_001);
    const early = pointsOf('encoder.encode_ms_p95', [90], FROM_MS - 1);
    const series = { ...facts.series, 'encoder.encode_ms_p95': [...early, ...late] };
    expect(deriveWindows({ ...facts, series }).encoder_saturation).toEqual([]);
  });
});

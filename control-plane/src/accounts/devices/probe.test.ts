import { DAY_MS } from '@footlight/platform';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readProbe } from './probe.ts';

const NOW_MS = Date.UTC(2026, 5, 2, 12);
const at = (ageMs: number) => new Date(NOW_MS - ageMs).toISOString();

/** Facts of a probe that was measured now. */
function factsOf(capabilities: Record<string, unknown>) {
  const probe = readProbe({ measured_at: at(0), ...capabilities }, NOW_MS);
  if (probe.kind !== 'fresh') throw new Error(`the probe is ${probe.kind}`);
  return probe.facts;
}

const NOTHING = {
  client_type: 'web',
  bandwidth_kbps: null,
  rtt_ms: null,
  max_decode_height: null,
  codecs: { hevc: false, av1: false },
  display_refresh_hz: null,
  h264_profiles: null,
};

describe('a probe', () => {
  test.each([
    ['missing without measured_at', {}, 'missing'],
    ['missing when measured_at is no time', { measured_at: 'yesterday' }, 'missing'],
    ['missing when measured_at is no text', { measured_at: NOW_MS }, 'missing'],
    ['fresh for 30 days', { measured_at: at(30 * DAY_MS) }, 'fresh'],
    ['stale after them', { measured_at: at(30 * DAY_MS + 1) }, 'stale'],
    ['fresh when the clock was set back since', { measured_at: at(-DAY_MS) }, 'fresh'],
  ])('is %s', (_, capabilities, kind) => {
    expect(readProbe(capabilities, NOW_MS).kind).toBe(kind);
  });

  test('reads what was measured', () => {
    const facts = factsOf({
      client_type: 'native',
      bandwidth_kbps: 25_000.5,
      rtt_ms: 0,
      max_decode_height: 2160,
      codecs: { h264: true, hevc: true, av1: false },
      display: { width: 2560, height: 1440, refresh_hz: 143.9 },
      decode: { h264: { profiles: ['main', 'high'] } },
    });
    expect(facts).toEqual({
      client_type: 'native',
      bandwidth_kbps: 25_000.5,
      rtt_ms: 0,
      max_decode_height: 2160,
      codecs: { hevc: true, av1: false },
      display_refresh_hz: 143.9,
      h264_profiles: ['main', 'high'],
    });
  });

  test.each([
    ['a bandwidth below 100', { bandwidth_kbps: 99.9 }],
    ['a bandwidth as text', { bandwidth_kbps: '25000' }],
    ['a round trip as text', { rtt_ms: '5' }],
    ['a decode height that is null', { max_decode_height: null }],
    ['a codec that is not exactly true', { codecs: { hevc: 'true', av1: 1 } }],
    ['codecs that are a list', { codecs: ['hevc', 'av1'] }],
    ['a refresh rate of 0', { display: { refresh_hz: 0 } }],
    ['a refresh rate above 1000', { display: { refresh_hz: 1000.1 } }],
    ['a display that is text', { display: '60' }],
    ['profiles with one that is no text', { decode: { h264: { profiles: ['main', 1] } } }],
    ['profiles that are text', { decode: { h264: { profiles: 'main' } } }],
    ['another kind of client', { client_type: 'Native' }],
  ])('counts as not measured: %s', (_, capabilities) => {
    expect(factsOf(capabilities)).toEqual(NOTHING);
  });

  test('never throws, and measures nothing but numbers within their bounds, whatever is stored', () => {
    const key = fc.constantFrom(
      'measured_at',
      'client_type',
      'bandwidth_kbps',
      'rtt_ms',
      'codecs',
      'hevc',
      'display',
      'refresh_hz',
      'decode',
      'h264',
      'profiles',
      '__proto__',
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof({ depthSize: 'small' }, fc.jsonValue(), fc.constant(at(0)), tie('object')),
      object: fc.dictionary(key, tie('tree')),
    }));
    fc.assert(
      fc.property(fc.dictionary(key, tree), (capabilities) => {
        const probe = readProbe(capabilities, NOW_MS);
        if (probe.kind !== 'fresh') return;
        const { facts } = probe;
        if (facts.bandwidth_kbps !== null) expect(facts.bandwidth_kbps).toBeGreaterThanOrEqual(100);
        for (const codec of Object.values(facts.codecs)) expect(typeof codec).toBe('boolean');
        if (facts.display_refresh_hz !== null) {
          expect(facts.display_refresh_hz).toBeGreaterThan(0);
          expect(facts.display_refresh_hz).toBeLessThanOrEqual(1000);
        }
        for (const profile of facts.h264_profiles ?? []) expect(typeof profile).toBe('string');
      }),
    );
  });
});

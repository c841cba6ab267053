import { CLIENT_METRIC_KEYS } from '@footlight/protocol/telemetry';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allowedMetrics, codecsNewestFirst, sortByTime, viewerSeconds } from './client-samples.ts';

describe('the figures of a viewer', () => {
  test.each<[string, string, object | null]>([
    ['listed numbers and booleans stay', '{"fps":60,"is_hidden":false}', { fps: 60, is_hidden: false }],
    ['other keys go', '{"fps":60,"user_agent":1,"constructor":2}', { fps: 60 }],
    ['a key of the prototype goes', '{"__proto__":{"fps":60}}', null],
    ['texts, nulls, lists and objects go', '{"fps":"60","rtt_ms":null,"jitter_ms":[1],"decode_ms":{}}', null],
    [
      'zero and negative numbers stay',
      '{"fps":0,"decode_display_ms":-3.5}',
      { fps: 0, decode_display_ms: -3.5 },
    ],
    ['a number too large for a double goes', '{"fps":1e400,"rtt_ms":1}', { rtt_ms: 1 }],
    ['a number that is no measurement goes', '{"fps":1e300,"rtt_ms":-1e16}', null],
    ['nothing is left of an empty object', '{}', null],
  ])('%s', (_, json, allowed) => {
    expect(allowedMetrics(JSON.parse(json))).toEqual(allowed);
  });

  test('have listed keys and finite values, whatever was sent', () => {
    const key = fc.oneof(fc.constantFrom<string>(...CLIENT_METRIC_KEYS), fc.string());
    const value = fc.oneof(fc.double(), fc.boolean(), fc.jsonValue());
    fc.assert(
      fc.property(fc.dictionary(key, value), (metrics) => {
        for (const [name, figure] of Object.entries(allowedMetrics(metrics) ?? {})) {
          expect(CLIENT_METRIC_KEYS).toContain(name);
          expect(typeof figure === 'boolean' || Number.isFinite(figure)).toBe(true);
        }
      }),
    );
  });
});

test('items are sorted by their times, and none is lost', () => {
  const now = Date.parse('2026-11-20T10:00:00.000Z');
  const items = [{ ts_unix_ms: now }, { ts_unix_ms: 0 }, { ts_unix_ms: now - 1_000 }];
  expect(sortByTime(items, now)).toEqual({
    taken: [{ ts_unix_ms: now }, { ts_unix_ms: now - 1_000 }],
    rejected: [{ ts: 0, cause: 'zero_or_negative' }],
  });
});

test('the codec of the newest sample comes first, whatever their order', () => {
  const samples = [
    { ts_unix_ms: 2, codec_mime_type: 'video/H264' },
    { ts_unix_ms: 4 },
    { ts_unix_ms: 3, codec_mime_type: 'video/AV1' },
    { ts_unix_ms: 1, codec_mime_type: 'video/H265' },
  ];
  expect(codecsNewestFirst(samples)).toEqual(['video/AV1', 'video/H264', 'video/H265']);
});

describe('the seconds of a viewer', () => {
  test('have a known health, and come the oldest first', () => {
    const samples = [
      { ts_unix_ms: 3, metrics: {}, client_health: 'smooth', device_key: 'laptop' },
      { ts_unix_ms: 1, metrics: {}, client_health: 'decode_degrading', client_health_reason: 'slow' },
      { ts_unix_ms: 2, metrics: {}, client_health: 'constructor' },
      { ts_unix_ms: 4, metrics: {} },
    ];
    expect(viewerSeconds(samples)).toEqual([
      { tsMs: 1, health: 'decode_degrading', reason: 'slow', deviceKey: null },
      { tsMs: 3, health: 'smooth', reason: null, deviceKey: 'laptop' },
    ]);
  });

  test.each([
    ['', null],
    [' \n\t ', null],
    ['\u0000\u0007\u202e', null],
    [' two\n lines\u0000 ', 'two lines'],
    ['x'.repeat(32_000), 'x'.repeat(120)],
    ['é'.repeat(100), 'é'.repeat(60)],
  ])('the reason %j is shown as %j', (client_health_reason, reason) => {
    const sample = { ts_unix_ms: 1, metrics: {}, client_health: 'smooth', client_health_reason };
    expect(viewerSeconds([sample])[0]?.reason).toBe(reason);
  });
});

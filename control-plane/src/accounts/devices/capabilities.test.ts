import { isJsonObject, type JsonObject } from '@footlight/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sanitizeCapabilities } from './capabilities.ts';

const NOW = '2026-06-02T12:00:00.000Z';

/** Capabilities that are stored for a body, without the time stamp. */
function stored(json: string): string {
  const { measured_at, ...rest } = sanitizeCapabilities(JSON.parse(json), NOW);
  expect(measured_at).toBe(NOW);
  return JSON.stringify(rest);
}

const nested = (levels: number, leaf: string): string => '{"a":'.repeat(levels) + leaf + '}'.repeat(levels);
const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `k${String(index).padStart(3, '0')}`);

describe('capabilities are cut, never refused', () => {
  test.each([
    ['nothing is nothing', '{}', '{}'],
    [
      'what fits stays as it was sent',
      '{"a":[1,null,true,"x",{"b":-0.5}]}',
      '{"a":[1,null,true,"x",{"b":-0.5}]}',
    ],
    ['the time is the server’s', '{"measured_at":"1999-01-01T00:00:00Z"}', '{}'],
    ['a value at depth 8 stays', nested(8, '1'), nested(8, '1')],
    ['an object at depth 8 loses its members', nested(9, '1'), nested(8, '{}')],
    ['a list at depth 8 loses its elements', nested(8, '[1,2]'), nested(8, '[]')],
    ['an invalid number is dropped', '{"a":1e999,"b":[-1e999,1]}', '{"b":[1]}'],
    ['an unknown client_type becomes web', '{"client_type":"tv"}', '{"client_type":"web"}'],
    ['a client_type of another type becomes web', '{"client_type":null}', '{"client_type":"web"}'],
    ['native stays', '{"client_type":"native"}', '{"client_type":"native"}'],
    ['a missing client_type stays missing', '{"a":1}', '{"a":1}'],
    ['a report_version that is no whole number is dropped', '{"report_version":1.5}', '{}'],
    ['a report_version that is text is dropped', '{"report_version":"1"}', '{}'],
    ['a whole report_version stays', '{"report_version":3}', '{"report_version":3}'],
    [
      'both rules apply to the root only',
      '{"a":{"client_type":"tv","report_version":"1"}}',
      '{"a":{"client_type":"tv","report_version":"1"}}',
    ],
    ['__proto__ is an ordinary key', '{"__proto__":{"a":1}}', '{"__proto__":{"a":1}}'],
    ['constructor too', '{"constructor":{"prototype":{}}}', '{"constructor":{"prototype":{}}}'],
  ])('%s', (_, sent, kept) => {
    expect(stored(sent)).toBe(kept);
  });

  test('keeps the first 64 keys in their order as text, and the first 64 elements', () => {
    const keys = numbered(100);
    const shuffled = [...keys].reverse();
    const object = Object.fromEntries(shuffled.map((key) => [key, 1]));
    const kept = sanitizeCapabilities({ object, list: keys }, NOW);
    expect(Object.keys(kept.object as object)).toEqual(keys.slice(0, 64));
    expect(kept.list).toEqual(keys.slice(0, 64));
  });

  test('stamps beyond the 64 keys of the client', () => {
    const sent = Object.fromEntries(['measured_at', ...numbered(100)].map((key) => [key, 1]));
    const kept = sanitizeCapabilities(sent, NOW);
    expect(Object.keys(kept).sort()).toEqual([...numbered(64), 'measured_at']);
  });

  test('cuts texts and keys to 512 characters without splitting one', () => {
    const long = '😀'.repeat(600);
    const kept = sanitizeCapabilities({ [long]: long, fits: 'x'.repeat(512) }, NOW);
    const cut = '😀'.repeat(512);
    expect(kept).toEqual({ [cut]: cut, fits: 'x'.repeat(512), measured_at: NOW });
  });

  test('keeps the first of two keys that are the same once cut', () => {
    const stem = 'k'.repeat(512);
    expect(sanitizeCapabilities({ [`${stem}b`]: 2, [`${stem}a`]: 1 }, NOW)).toEqual({
      [stem]: 1,
      measured_at: NOW,
    });
  });

  test('cuts the deepest body of 8 KiB', () => {
    const sent = `{"a":${'['.repeat(4_000)}${']'.repeat(4_000)}}`;
    expect(stored(sent)).toBe(`{"a":${'['.repeat(8)}${']'.repeat(8)}}`);
  });
});

const leaf = fc.oneof(
  fc.constantFrom(null, true, 0, Number.POSITIVE_INFINITY, Number.NaN, -1.5, 'web', 'tv'),
  fc
    .tuple(fc.string({ unit: 'binary', maxLength: 3 }), fc.nat(600))
    .map(([text, times]) => text.repeat(times)),
);
const key = fc.oneof(
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toString',
    'measured_at',
    'client_type',
    'report_version',
    'a',
  ),
  fc
    .tuple(fc.string({ unit: 'binary', maxLength: 2 }), fc.nat(600))
    .map(([text, times]) => text.repeat(times)),
);
const wide = fc.tuple(key, leaf, fc.nat(80), fc.boolean()).map(([stem, item, members, isList]) => {
  const items = Array.from({ length: members }, () => item);
  return isList
    ? items
    : Object.fromEntries(items.map((one, index) => [index < 2 ? stem : stem + index, one]));
});
const deep = fc
  .tuple(fc.oneof(leaf, wide), fc.array(fc.option(key), { maxLength: 12 }))
  .map(([inside, layers]) =>
    layers.reduce<unknown>(
      (item, name) => (name === null ? [item, 1] : Object.fromEntries([[name, item]])),
      inside,
    ),
  );
/** Objects with own keys of any name, like those that JSON.parse creates. */
const object = fc
  .array(fc.tuple(key, fc.oneof(leaf, wide, deep)), { maxLength: 80 })
  .map((entries): JsonObject => Object.fromEntries(entries));

/** Yields the value and all values below it, with their depths. */
function* walk(item: unknown, depth = 0): Generator<{ item: unknown; depth: number }> {
  yield { item, depth };
  if (typeof item !== 'object' || item === null) return;
  for (const child of Object.values(item)) yield* walk(child, depth + 1);
}

describe('any capabilities of a client', () => {
  test('the stored value is within every bound, is JSON, and changes no prototype', () => {
    fc.assert(
      fc.property(object, (sent) => {
        const kept = sanitizeCapabilities(sent, NOW);
        expect(kept.measured_at).toBe(NOW);
        expect(JSON.parse(JSON.stringify(kept))).toEqual(kept);
        for (const { item, depth } of walk(kept)) {
          expect(depth).toBeLessThanOrEqual(8);
          if (typeof item === 'string') expect(Array.from(item).length).toBeLessThanOrEqual(512);
          if (Array.isArray(item)) expect(item.length).toBeLessThanOrEqual(64);
          if (!isJsonObject(item)) continue;
          expect(Object.getPrototypeOf(item)).toBe(Object.prototype);
          expect(Object.keys(item).length).toBeLessThanOrEqual(depth === 0 ? 65 : 64);
          for (const name of Object.keys(item)) expect(Array.from(name).length).toBeLessThanOrEqual(512);
        }
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
    );
  });

  test('cutting twice gives the same as cutting once', () => {
    fc.assert(
      fc.property(object, (sent) => {
        const once = sanitizeCapabilities(sent, NOW);
        expect(sanitizeCapabilities(once, NOW)).toEqual(once);
      }),
    );
  });
});

import type { JsonObject } from '@footlight/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeUiPreferences, mergeUiPreferences } from './ui-preferences.ts';

describe('settings are merged one level deep', () => {
  test.each([
    ['two empty documents give an empty overlay', '{}', '{}', '{"session_overlay":{}}'],
    [
      'keys of the overlay that are absent stay',
      '{"session_overlay":{"strip_preset":"full","strip_position":"top"}}',
      '{"session_overlay":{"strip_position":"left"}}',
      '{"session_overlay":{"strip_preset":"full","strip_position":"left"}}',
    ],
    [
      'strip_items is replaced as a whole',
      '{"session_overlay":{"strip_items":{"codec":false,"mic":false}}}',
      '{"session_overlay":{"strip_items":{"exit":true}}}',
      '{"session_overlay":{"strip_items":{"exit":true}}}',
    ],
    [
      'a null overlay changes nothing',
      '{"session_overlay":{"strip_preset":"full"}}',
      '{"session_overlay":null}',
      '{"session_overlay":{"strip_preset":"full"}}',
    ],
    [
      'other keys are replaced as they are',
      '{"session_overlay":{},"view":{"a":1},"kept":1}',
      '{"view":{"b":2}}',
      '{"session_overlay":{},"view":{"b":2},"kept":1}',
    ],
    [
      'null is a value',
      '{"session_overlay":{},"view":1}',
      '{"view":null}',
      '{"session_overlay":{},"view":null}',
    ],
    [
      '__proto__ is an ordinary key',
      '{"session_overlay":{}}',
      '{"__proto__":{"a":1}}',
      '{"session_overlay":{},"__proto__":{"a":1}}',
    ],
  ])('%s', (_, stored, patch, expected) => {
    expect(JSON.stringify(mergeUiPreferences(JSON.parse(stored), JSON.parse(patch)))).toBe(expected);
  });

  test('merging the same change twice is merging it once, and touches neither side', () => {
    const document = fc
      .dictionary(fc.constantFrom('session_overlay', '__proto__', 'a', 'b'), fc.jsonValue())
      .map((entries) => entries as JsonObject);
    fc.assert(
      fc.property(document, document, (stored, patch) => {
        const before = JSON.stringify([stored, patch]);
        const once = mergeUiPreferences(stored, patch);
        expect(mergeUiPreferences(once, patch)).toEqual(once);
        expect(JSON.stringify([stored, patch])).toBe(before);
        expect(Object.getPrototypeOf(once)).toBe(Object.prototype);
      }),
    );
  });
});

test('a document is stored up to 64 KiB of UTF-8', () => {
  const document = (length: number) => ({ session_overlay: {}, a: 'é'.repeat(length) });
  const overhead = JSON.stringify(document(0)).length;
  const longest = (64 * 1024 - overhead) / 2;
  expect(encodeUiPreferences(document(Math.floor(longest)))).not.toBeNull();
  expect(encodeUiPreferences(document(Math.floor(longest) + 1))).toBeNull();
});

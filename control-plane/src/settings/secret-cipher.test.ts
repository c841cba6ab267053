import { createSecretKey, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SecretKey } from '../platform/secret-keys.ts';
import { hintOf, NONCE_BYTES, openValue, type SealedValue, sealValue } from './secret-cipher.ts';

const keyOf = (version: number, byte = version): SecretKey => ({
  version,
  key: createSecretKey(Buffer.alloc(32, byte)),
});
const keys = { current: keyOf(2), previous: [keyOf(1)] };
const seal = (key: SecretKey, name: string, value: string) =>
  sealValue(key, name, value, randomBytes(NONCE_BYTES));
const DOES_NOT_MATCH = { problem: expect.stringContaining('does not match') };

describe('a sealed value', () => {
  test('opens any text under the key and the name that sealed it', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), fc.string(), (value, name) => {
        expect(openValue(keys, name, seal(keys.current, name, value))).toEqual({ value });
      }),
    );
  });

  test('opens under a former key', () => {
    const former = seal(keyOf(1), 'a', 'value');
    expect(openValue(keys, 'a', former)).toEqual({ value: 'value' });
  });

  test('never opens under another name, so swapped rows stay shut', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (name, other) => {
        fc.pre(name !== other);
        expect(openValue(keys, other, seal(keys.current, name, 'value'))).toEqual(DOES_NOT_MATCH);
      }),
    );
  });

  test('shuts with any bit changed: of the value, its tag or its nonce', () => {
    const sealed = seal(keys.current, 'a', 'a value of some length');
    for (const part of ['ciphertext', 'nonce'] as const) {
      const bytes = Buffer.from(sealed[part], 'base64');
      for (let bit = 0; bit < bytes.length * 8; bit += 1) {
        const changed = Buffer.from(bytes);
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(openValue(keys, 'a', { ...sealed, [part]: changed.toString('base64') })).toEqual(
          DOES_NOT_MATCH,
        );
      }
    }
  });

  test.each<[string, Partial<SealedValue>]>([
    ['nothing', { ciphertext: '' }],
    ['less than a tag', { ciphertext: Buffer.alloc(8).toString('base64') }],
    ['a nonce of no length', { nonce: '' }],
  ])('of %s is a problem, not a crash', (_, broken) => {
    const sealed = { ...seal(keys.current, 'a', 'value'), ...broken };
    expect(openValue(keys, 'a', sealed)).toEqual(DOES_NOT_MATCH);
  });

  test('says what is wrong with the keys', () => {
    const sealed = seal(keyOf(3), 'a', 'value');
    expect(openValue(null, 'a', sealed)).toEqual({
      problem: expect.stringMatching(/does not match.*SERVICE_SECRET_KEY is not set/),
    });
    expect(openValue(keys, 'a', sealed)).toEqual({
      problem: expect.stringMatching(/does not match.*version 3, which is not set/),
    });
    const other = { current: keyOf(3, 9), previous: [] };
    expect(openValue(other, 'a', sealed)).toEqual({
      problem: expect.stringMatching(/does not match.*version 3 does not open/),
    });
  });
});

test.each([
  ['', ''],
  ['12345678901', ''],
  ['123456789012', '9012'],
  ['ääääääääää😀😀', 'ää😀😀'],
])('the hint of %j is %j', (value, hint) => {
  expect(hintOf(value)).toBe(hint);
});

import { inspect } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseSecretKey } from './secret-keys.ts';

const bytes = Buffer.alloc(32, 0xfb);
const STANDARD = bytes.toString('base64');
const URL_SAFE = bytes.toString('base64url');

test('is base64 of 32 bytes in either alphabet; a bare one is version 1', () => {
  for (const text of [STANDARD, STANDARD.replace('=', ''), URL_SAFE, `${URL_SAFE}=`, ` ${STANDARD} `]) {
    const parsed = parseSecretKey(text);
    expect(parsed?.version, text).toBe(1);
    expect(parsed?.key.export().equals(bytes), text).toBe(true);
  }
  expect(parseSecretKey(`7:${URL_SAFE}`)).toMatchObject({ version: 7 });
  expect(parseSecretKey(`2147483647:${STANDARD}`)).toMatchObject({ version: 2147483647 });
});

test.each([
  ['nothing', ''],
  ['no base64', `${'*'.repeat(43)}=`],
  ['both alphabets at once', `+_${'A'.repeat(41)}=`],
  ['31 bytes', Buffer.alloc(31).toString('base64')],
  ['33 bytes', Buffer.alloc(33).toString('base64')],
  ['hexadecimal', bytes.toString('hex')],
  ['version 0', `0:${STANDARD}`],
  ['a version with a leading zero', `01:${STANDARD}`],
  ['a negative version', `-1:${STANDARD}`],
  ['a version beyond 32 bits', `2147483648:${STANDARD}`],
  ['an empty version', `:${STANDARD}`],
  ['a version and no key', '1:'],
  ['two versions', `1:2:${STANDARD}`],
])('refuses %s', (_, text) => {
  expect(parseSecretKey(text)).toBeNull();
});

test('wants a version where one must be named', () => {
  expect(parseSecretKey(STANDARD, { versioned: true })).toBeNull();
  expect(parseSecretKey(`1:${STANDARD}`, { versioned: true })).toMatchObject({ version: 1 });
});

test('reads back every key, and shows none of it', () => {
  const version = fc.integer({ min: 1, max: 2147483647 });
  const bytesOfKey = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((array) => Buffer.from(array));
  fc.assert(
    fc.property(version, bytesOfKey, (given, key) => {
      const parsed = parseSecretKey(`${given}:${key.toString('base64')}`);
      expect(parsed?.version).toBe(given);
      expect(parsed?.key.export().equals(key)).toBe(true);
      for (const shown of [inspect(parsed, { depth: 9, showHidden: true }), JSON.stringify(parsed)]) {
        expect(shown).not.toContain(key.toString('base64').slice(0, 43));
        expect(shown).not.toContain(key.toString('hex'));
      }
    }),
  );
});

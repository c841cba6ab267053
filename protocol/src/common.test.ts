import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  createFrameParser,
  cutUtf8,
  fitsUtf8,
  hasTooManyValues,
  humanText,
  isShallow,
  jsonObject,
  MAX_JSON_VALUES,
  stringMap,
  stripControls,
  text,
  utf8Length,
  uuid,
  wireUuid,
} from './common.ts';

const ID = '0b90b6a0-1111-4222-8333-444444444444';

describe('the values of a JSON text are counted before it is parsed', () => {
  const MAX = MAX_JSON_VALUES;
  const valuesOf = (value: unknown): number =>
    typeof value === 'object' && value !== null
      ? Object.values(value).reduce((sum: number, item) => sum + valuesOf(item), 1)
      : 1;

  test.each([
    ['lists in a list', JSON.stringify(Array(MAX).fill([])), true],
    ['a list of half as many lists', JSON.stringify(Array(MAX / 2 - 1).fill([])), false],
    ['levels', `${'['.repeat(MAX)}${']'.repeat(MAX)}`, true],
    ['numbers', JSON.stringify(Array(MAX + 1).fill(1)), true],
    ['keys', JSON.stringify(Object.fromEntries(Array.from({ length: MAX + 1 }, (_, n) => [n, 0]))), true],
    ['a long text of commas and brackets', JSON.stringify({ text: ',[{'.repeat(MAX) }), false],
    ['a text of quotation marks and backslashes', JSON.stringify(['\\"\\\\,"'.repeat(MAX), '\\']), false],
    ['a text that never ends', `["${','.repeat(2 * MAX)}`, false],
  ])('%s', (_name, json, isOver) => {
    expect(hasTooManyValues(json)).toBe(isOver);
  });

  test('every text with twice the bound is refused, every text with a third of it passes', () => {
    const padding = ' '.repeat(MAX);
    fc.assert(
      fc.property(fc.json(), fc.nat(MAX), (json, count) => {
        const list = `[${padding}${Array(count).fill(json).join(',')}]`;
        const values = valuesOf(JSON.parse(list));
        if (values > 2 * MAX) expect(hasTooManyValues(list)).toBe(true);
        if (3 * values < MAX) expect(hasTooManyValues(list)).toBe(false);
      }),
      { numRuns: 20 },
    );
  });
});

describe('text is bounded in UTF-8 bytes', () => {
  test.each([
    ['four letters', 'abcd', 4, true],
    ['five letters', 'abcde', 4, false],
    ['two umlauts take four bytes', 'éé', 4, true],
    ['three umlauts take six', 'ééé', 5, false],
    ['one emoji takes four', '🎭', 4, true],
    ['an emoji does not fit three', '🎭', 3, false],
    ['a lone surrogate counts as the replacement character', '\ud800', 3, true],
  ] as const)('%s', (_name, value, bytes, fits) => {
    expect(text(bytes).safeParse(value).success).toBe(fits);
    expect(fitsUtf8(value, bytes)).toBe(fits);
  });

  test('cutting never exceeds the bound and never splits a character', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 40 }),
        fc.integer({ min: 0, max: 40 }),
        (value, bytes) => {
          const cut = cutUtf8(value, bytes);
          expect(utf8Length(cut)).toBeLessThanOrEqual(bytes);
          expect(value.startsWith(cut)).toBe(true);
          expect(cut.isWellFormed?.() ?? true).toBe(true);
        },
      ),
    );
  });
});

describe('strings for people', () => {
  test('lose control characters, keep newline and tab', () => {
    expect(humanText(64).parse('a\u0000b\tc\nd\re\u001b[31mf\u0085g\u007f')).toBe('ab\tc\nde[31mfg');
  });

  test('lose bidirectional control characters, keep the characters that scripts and emoji need', () => {
    const commands = 'apt-get install \u202efws\u202c # \u2066\u2069ok';
    expect(humanText(200).parse(commands)).toBe('apt-get install fws # ok');
    expect(stripControls('\u0645\u06cc\u200c\u062e \u200fאב 👩\u200d💻')).toBe(
      '\u0645\u06cc\u200c\u062e \u200fאב 👩\u200d💻',
    );
  });

  test('lose lone surrogates, keep pairs', () => {
    expect(stripControls('a\ud800b🎭')).toBe('ab🎭');
  });
});

describe('uuids', () => {
  test('from people may have either case and are lower-cased', () => {
    expect(uuid.parse(ID.toUpperCase())).toBe(ID);
  });

  test.each(['', 'x', ID.slice(1), `${ID}0`, ` ${ID}`, ID.replaceAll('-', '')])('%j is none', (value) => {
    expect(uuid.safeParse(value).success).toBe(false);
    expect(wireUuid.safeParse(value).success).toBe(false);
  });

  test('on the sockets are lower-case only', () => {
    expect(wireUuid.safeParse(ID.toUpperCase()).success).toBe(false);
    expect(wireUuid.parse(ID)).toBe(ID);
  });
});

describe('free-form objects', () => {
  test('keep a key such as __proto__ as data', () => {
    const value = JSON.parse('{"__proto__":{"admin":true},"a":1}');
    const parsed = jsonObject.parse(value);
    expect(Object.keys(parsed)).toEqual(['__proto__', 'a']);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  test('are refused when nested too deep, without exhausting the stack', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`);
    expect(isShallow(deep)).toBe(false);
    expect(jsonObject.safeParse(deep).success).toBe(false);
  });

  test('maps of strings keep their keys and check every value', () => {
    const map = stringMap(2, 4);
    expect(Object.keys(map.parse(JSON.parse('{"__proto__":"x"}')))).toEqual(['__proto__']);
    expect(map.safeParse({ a: 'x', b: 'y', c: 'z' }).success).toBe(false);
    expect(map.safeParse({ a: 'xxxxx' }).success).toBe(false);
    expect(map.safeParse({ a: 1 }).success).toBe(false);
    expect(map.safeParse([]).success).toBe(false);
  });
});

describe('a frame is a message, unknown, or malformed', () => {
  const parse = createFrameParser(
    z.discriminatedUnion('type', [z.object({ type: z.literal('hi'), n: z.int() })]),
  );

  test.each([
    ['{"type":"hi","n":1,"more":2}', { kind: 'message', message: { type: 'hi', n: 1 } }],
    ['{"type":"new"}', { kind: 'unknown', type: 'new' }],
    [`{"type":"new","id":"${ID}"}`, { kind: 'unknown', type: 'new', id: ID }],
    ['{"type":"constructor"}', { kind: 'unknown', type: 'constructor' }],
    ['{"type":"__proto__"}', { kind: 'unknown', type: '__proto__' }],
    [`{"type":"hi","id":"${ID}"}`, { kind: 'malformed', type: 'hi', id: ID, why: 'n: invalid_type' }],
    ['{"n":1}', { kind: 'malformed', why: 'no type' }],
    ['{"type":7}', { kind: 'malformed', why: 'no type' }],
    ['[]', { kind: 'malformed', why: 'not an object' }],
    ['null', { kind: 'malformed', why: 'not an object' }],
    ['{"type":"hi"', { kind: 'malformed', why: 'not JSON' }],
    ['', { kind: 'malformed', why: 'not JSON' }],
  ])('%s', (frame, expected) => {
    expect(parse(frame)).toEqual(expected);
  });
});

import { describe, expect, test } from 'vitest';
import { chordCode } from './chord-code.ts';
import { detectLayout } from './detect-layout.ts';
import { changed, readLayouts } from './kept-layout.ts';
import { asOnApple, DETECTED_KEYS, LAYOUTS, offered } from './layouts.ts';

const printedOf = (name: string, without: string[] = []) => {
  const { printed = '' } = LAYOUTS.find((each) => each.name === name) ?? {};
  const entries = DETECTED_KEYS.map((code, index): [string, string] => [code, [...printed][index] ?? '']);
  return new Map(entries.filter(([code, character]) => character !== '?' && !without.includes(code)));
};

describe('the layout of a keyboard', () => {
  test('every layout has a character for each compared key', () => {
    for (const { name, printed } of LAYOUTS) expect([...printed], name).toHaveLength(DETECTED_KEYS.length);
  });

  test.each([
    ['German', ['en-US'], 'de', null],
    ['French', ['en-US'], 'fr', null],
    ['German (Switzerland)', ['en'], 'ch', null],
    ['French (Switzerland)', ['de'], 'ch', 'fr'],
    ['English (UK)', ['de'], 'gb', null],
    ['English (US)', ['de'], 'us', null],
    ['English (US, international)', ['de'], 'us', 'intl'],
    ['Swedish', ['fi', 'en'], 'fi', null],
    ['Swedish', ['sv', 'en'], 'se', null],
    ['Brazilian', ['en'], 'br', null],
    ['Japanese', ['en'], 'jp', null],
  ])('%s keys and the languages %s: %s %s', (name, languages, layout, variant) => {
    const facts = { printed: printedOf(name), languages, isApple: false };
    expect(detectLayout(facts)).toEqual({ layout, variant });
  });

  test.each([
    ['keys that Polish and Korean keyboards share: the language decides', 'English (US)', ['pl', 'en'], 'pl'],
    ['and a language without such a keyboard decides nothing', 'English (US)', ['de', 'fr'], 'us'],
    ['Austrian keys are German ones', 'German', ['de-AT', 'de'], 'at'],
  ])('%s', (_what, name, languages, layout) => {
    expect(detectLayout({ printed: printedOf(name), languages, isApple: false })).toEqual({
      layout,
      variant: null,
    });
  });

  test('a keyboard without two of the keys is found', () => {
    const printed = printedOf('German', ['Backslash', 'Backquote']);
    expect(detectLayout({ printed, languages: ['en'], isApple: false }).layout).toBe('de');
  });

  test('if the keys match no offered layout, the language decides', () => {
    const printed = new Map(DETECTED_KEYS.map((code, index) => [code, String.fromCodePoint(0x3042 + index)]));
    expect(detectLayout({ printed, languages: ['fr-CA'], isApple: false }).layout).toBe('ca');
  });

  test.each([
    [['de-CH', 'de'], 'ch', null],
    [['de-DE'], 'de', null],
    [['en-GB'], 'gb', null],
    [['en-AU'], 'us', null],
    [['pt-BR'], 'br', null],
    [['xx', 'it'], 'it', null],
    [['xx'], 'us', null],
    [[], 'us', null],
  ])('a browser that says no keys, with the languages %s: %s', (languages, layout, variant) => {
    expect(detectLayout({ printed: null, languages, isApple: false })).toEqual({ layout, variant });
  });

  test('on an Apple keyboard, Option types other characters than AltGr', () => {
    expect(detectLayout({ printed: null, languages: ['de-CH'], isApple: true })).toEqual({
      layout: 'ch',
      variant: 'de_mac',
    });
    expect(detectLayout({ printed: null, languages: ['cs'], isApple: true })).toEqual({
      layout: 'cz',
      variant: null,
    });
  });

  test('the name of an Apple layout maps back to its layout', () => {
    for (const each of LAYOUTS) expect(offered(asOnApple(each)), each.name).toBe(each);
    expect(offered({ layout: 'xx', variant: null })).toBe(null);
  });
});

describe('the account remembers a layout for each device', () => {
  const de = { layout: 'de', variant: null };
  const intl = { layout: 'us', variant: 'intl' };

  test('stored layouts are read, and malformed entries are ignored', () => {
    const keyboard_layouts = {
      a: de,
      b: 'de',
      c: { layout: 1, variant: null },
      d: { layout: 'de' },
      e: null,
    };
    expect([...readLayouts({ session_overlay: {}, keyboard_layouts })]).toEqual([['a', de]]);
    for (const other of [undefined, null, 'x', []])
      expect(readLayouts({ keyboard_layouts: other }).size).toBe(0);
  });

  test('a choice replaces only that of the same device, and null removes it', () => {
    const before = new Map([
      ['a', de],
      ['b', de],
    ]);
    expect(changed(before, 'a', intl)).toEqual([
      ['b', de],
      ['a', intl],
    ]);
    expect(changed(before, 'a', null)).toEqual([['b', de]]);
  });

  test('with too many devices, the one that was changed longest ago is forgotten', () => {
    let layouts = new Map<string, { layout: string; variant: string | null }>();
    for (let device = 0; device < 40; device++) layouts = new Map(changed(layouts, `d${device}`, de));
    expect(layouts.size).toBe(32);
    expect([...layouts.keys()][0]).toBe('d8');
  });
});

describe('the key for a letter of a chord', () => {
  test.each([
    ['z', 'de', null, 'KeyY'],
    ['Y', 'de', null, 'KeyZ'],
    ['a', 'fr', null, 'KeyQ'],
    ['m', 'fr', null, 'Semicolon'],
    ['w', 'fr', null, 'KeyZ'],
    ['z', 'de', 'mac', 'KeyY'],
    ['c', 'de', null, 'KeyC'],
    ['z', 'us', null, 'KeyZ'],
    ['z', 'ru', null, 'KeyZ'],
    ['z', 'a map that is not offered', null, 'KeyZ'],
    ['5', 'fr', null, 'Digit5'],
    ['é', 'fr', null, null],
    ['zz', 'de', null, null],
  ])('%s of the layout %s %s: %s', (text, layout, variant, code) => {
    expect(chordCode(text, { layout, variant })).toBe(code);
  });

  test('is at its US position if the host keeps its layout', () => {
    expect(chordCode('z', null)).toBe('KeyZ');
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { manifestId, readLibraryFolders, readManifest } from './manifests.ts';
import { libraryFoldersText, manifestText } from './testing/steam-home.ts';

describe('a manifest', () => {
  test.each([
    ['appmanifest_440.acf', '440'],
    ['appmanifest_4294967295.acf', '4294967295'],
    ['appmanifest_0.acf', null],
    ['appmanifest_044.acf', null],
    ['appmanifest_12345678901.acf', null],
    ['appmanifest_440.acf.tmp', null],
    ['appmanifest_x.acf', null],
  ])('%s is of %s', (name, id) => {
    expect(manifestId(name)).toBe(id);
  });

  test('gives name, folder, size and state', () => {
    expect(readManifest('440', manifestText(440, 'Sample "Quest" \\ {II}', 1026))).toEqual({
      external_id: '440',
      name: 'Sample "Quest" \\ {II}',
      install_dir: 'Title 440',
      size_on_disk: 26_843_545_600,
      state_flags: 1026,
    });
  });

  const unread = { external_id: '440', name: '', install_dir: '', size_on_disk: 0, state_flags: 0 };
  test.each([
    ['that cannot be read', null],
    ['that is empty', ''],
    ['half written', manifestText(440).slice(0, 120)],
    ['truncated at a quotation mark', manifestText(440).slice(0, manifestText(440).indexOf('Title') - 1)],
    ['of zeros, as after a crash', '\0'.repeat(4096)],
    ['of another title', manifestText(441)],
    ['with a list in place of the state', '"AppState" "a"\n"AppState" "b"\n'],
    ['with too many brackets', '}'.repeat(5)],
    ['without an end', '"AppState"\n{\n"appid" "440"\n'],
  ])('%s: only its presence is known', (_what, text) => {
    expect(readManifest('440', text)).toEqual(unread);
  });

  test('with keys in another case is read', () => {
    const text = manifestText(440).replace('"AppState"', '"appstate"').replace('"name"', '"NAME"');
    expect(readManifest('440', text).name).toBe('Title 440');
  });

  test.each([
    ['a number that is not exact', '9007199254740993', 0],
    ['a negative one', '-4', 0],
    ['no number', 'four', 0],
    ['a large one', '9007199254740991', 9_007_199_254_740_991],
  ])('with %s as its size', (_what, size, expected) => {
    expect(readManifest('440', manifestText(440).replace('26843545600', size)).size_on_disk).toBe(expected);
  });

  test('cannot contain control characters or an overlong name in the result', () => {
    const entry = readManifest('440', manifestText(440, `\u001b[31m${'é'.repeat(2000)}`));
    expect(entry.name).toMatch(/^\[31mé+$/);
    expect(Buffer.byteLength(entry.name)).toBeLessThanOrEqual(512);
  });

  test('cannot reach the prototype of objects', () => {
    for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      readManifest(
        '440',
        `"${key}"\n{\n"polluted" "yes"\n"${key}"\n{\n"polluted" "yes"\n}\n}\n${manifestText(440)}`,
      );
      readManifest('440', `"AppState"\n{\n"${key}" "yes"\n"${key}" "again"\n}\n`);
    }
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  test('of any text is read without an exception', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        expect(readManifest('440', text).external_id).toBe('440');
        readLibraryFolders(text);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('ten thousand random mutations of manifests', () => {
  const PARTS = [
    '"',
    '\\',
    '{',
    '}',
    '\n',
    '\t',
    '/',
    '\0',
    '[$X]',
    '"__proto__"',
    '"appid"',
    'é',
    '{'.repeat(50),
  ];
  const edit = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.nat({ max: 40 }),
    part: fc.constantFrom('', ...PARTS),
  });

  test('never crash the parser, and keep the form of an entry', () => {
    const whole = manifestText(440, 'Sample "Quest"');
    let read = 0;
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 8 }), (edits) => {
        let text = whole;
        for (const { at, length, part } of edits) {
          const from = Math.floor(at * text.length);
          text = text.slice(0, from) + part + text.slice(from + length);
        }
        const entry = readManifest('440', text);
        read += 1;
        expect(Object.keys(entry)).toEqual([
          'external_id',
          'name',
          'install_dir',
          'size_on_disk',
          'state_flags',
        ]);
        expect(Number.isSafeInteger(entry.size_on_disk) && entry.size_on_disk >= 0).toBe(true);
        expect(Number.isSafeInteger(entry.state_flags) && entry.state_flags >= 0).toBe(true);
        expect(Buffer.byteLength(entry.name)).toBeLessThanOrEqual(512);
      }),
      { numRuns: 10_000 },
    );
    expect(read).toBeGreaterThanOrEqual(10_000);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});

describe('the list of libraries', () => {
  test('names its folders', () => {
    expect(readLibraryFolders(libraryFoldersText(['/home/service/a', '/mnt/b']))).toEqual([
      '/home/service/a',
      '/mnt/b',
    ]);
  });

  test('of an older Steam has paths in place of blocks', () => {
    const text = '"LibraryFolders"\n{\n\t"TimeNextStatsReport"\t\t"1"\n\t"1"\t\t"/home/service/games"\n}\n';
    expect(readLibraryFolders(text)).toEqual(['/home/service/games']);
  });

  test.each(['', 'x', '"libraryfolders"\n{\n', '"other"\n{\n}\n'])('%j is none', (text) => {
    expect(readLibraryFolders(text)).toBeNull();
  });
});

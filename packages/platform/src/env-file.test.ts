import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mergeEnvironment, parseEnvironment, renderEnvironment } from './env-file.ts';

const name = fc.stringMatching(/^SERVICE_[A-Z]{1,8}$/);
const value = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/['\n\r\0]/g, ''));

describe('the environment of an installed service', () => {
  test('written values are read back unchanged', () => {
    fc.assert(
      fc.property(fc.dictionary(name, value), (variables) => {
        expect(parseEnvironment(renderEnvironment(variables))).toEqual({ ...variables });
      }),
    );
  });

  test('Node and a shell read the same values', () => {
    const dir = mkdtempSync(join(tmpdir(), 'footlight-env-'));
    try {
      const file = join(dir, 'agent.env');
      const text = 'a $HOME `id` "b" \\n #c  = %d ü';
      writeFileSync(file, renderEnvironment({ SERVICE_TEST: text }));
      const node = ['-e', 'process.stdout.write(process.env.SERVICE_TEST)'];
      expect(execFileSync(process.execPath, [`--env-file=${file}`, ...node], { encoding: 'utf8' })).toBe(
        text,
      );
      const shell = `. '${file}'; printf %s "$SERVICE_TEST"`;
      expect(execFileSync('sh', ['-c', shell], { encoding: 'utf8' })).toBe(text);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  test.each(["it's", 'two\nlines', 'return\r'])(
    '%j cannot be written, and the error names the variable',
    (text) => {
      expect(() => renderEnvironment({ SERVICE_TEST: text })).toThrow(/^SERVICE_TEST: .*SERVICE_TEST_FILE/);
    },
  );

  test.each([
    ['a stored value stays', { SERVICE_A: '1' }, {}, { SERVICE_A: '1' }],
    ['a value of this call replaces it', { SERVICE_A: '1' }, { SERVICE_A: '2' }, { SERVICE_A: '2' }],
    ['an empty value removes it', { SERVICE_A: '1' }, { SERVICE_A: '' }, {}],
    ['a file replaces the value', { SERVICE_A: '1' }, { SERVICE_A_FILE: '/a' }, { SERVICE_A_FILE: '/a' }],
    ['a value replaces the file', { SERVICE_A_FILE: '/a' }, { SERVICE_A: '1' }, { SERVICE_A: '1' }],
    [
      'a variable whose own name ends with _FILE is not the file of another',
      { SERVICE_SEED_FILE: '/a' },
      { SERVICE_SEED_FILE: '/b' },
      { SERVICE_SEED_FILE: '/b' },
    ],
    ['variables of other programs are ignored', {}, { PATH: '/bin', HOME: '/root' }, {}],
  ])('%s', (_words, stored, given, merged) => {
    const isOwn = (variable: string) => /^SERVICE_(A|SEED_FILE)$/.test(variable);
    expect(
      mergeEnvironment(stored as Record<string, string>, given as Record<string, string>, isOwn),
    ).toEqual(merged);
  });
});

test('lines that a person wrote by hand are kept', () => {
  const text = `# a comment
SERVICE_ENCODE_SLOTS=4
SERVICE_NODE_NAME="host one"
EMPTY=
SERVICE_A=two words
SERVICE_B="a \\" quote"
`;
  expect(parseEnvironment(text)).toEqual({
    SERVICE_ENCODE_SLOTS: '4',
    SERVICE_NODE_NAME: 'host one',
    EMPTY: '',
  });
});

import { readFileSync } from 'node:fs';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A variable of an environment; `text` is null if the variable is not set. */
export type GivenVariable =
  | { text: string | null; source: 'environment' | 'file' | 'unset' }
  | { problem: { variable: string; expected: string } };

/**
 * Looks up a variable NAME, which is set directly, or by NAME_FILE with the path of a file. A final line break of the
 * file is removed.
 * @param emptyCounts whether an empty text is a value; otherwise it counts as unset, so that unit files can list
 *   every variable
 */
export function lookUpVariable(environment: Environment, name: string, emptyCounts = false): GivenVariable {
  const direct = environment[name];
  const file = environment[`${name}_FILE`];
  const isSet = direct !== undefined && (direct !== '' || emptyCounts);
  if (!file) return isSet ? { text: direct, source: 'environment' } : { text: null, source: 'unset' };
  if (isSet) return { problem: { variable: name, expected: `either ${name} or ${name}_FILE, not both` } };
  try {
    const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    return text === '' && !emptyCounts ? { text: null, source: 'unset' } : { text, source: 'file' };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return { problem: { variable: `${name}_FILE`, expected: `a readable file (${code})` } };
  }
}

import { t } from '../../i18n/translate.ts';

/** Non-empty lines of a field. */
export function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line.trim() !== '');
}

/** Words of a line separated by spaces, with quotes as in a shell; null: the line is not a valid command. */
export function wordsOfLine(text: string): string[] | null {
  const [line = '', ...more] = linesOf(text);
  if (more.length > 0) return null;
  const words = [...line.matchAll(/"([^"]*)"|'([^']*)'|[^\s"']+/g)].map(
    ([whole, double, single]) => double ?? single ?? whole,
  );
  return words.length < 2 ? null : words;
}

/** Variables as text, one NAME=value per line. */
export function envText(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n');
}

/**
 * The list in a field, one item per line. A value with a line break would become two items, so an unchanged field
 * returns the stored list.
 */
export function listOf(text: string, stored: readonly string[]): readonly string[] {
  return text === stored.join('\n') ? stored : linesOf(text);
}

/** The same as `listOf`, for variables. */
export function envOf(
  text: string,
  stored: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  if (text === envText(stored)) return stored;
  return Object.fromEntries(
    linesOf(text).map((line) => {
      const at = line.indexOf('=');
      return [line.slice(0, at).trim(), line.slice(at + 1)];
    }),
  );
}

/** Describes the error of a field of variables; null: no error. */
export function envProblem(text: string): string | null {
  return linesOf(text).every((line) => /^[A-Za-z_][A-Za-z0-9_]*=/.test(line))
    ? null
    : t('One NAME=value per line');
}

/** Describes the error of a path; null: no error. @param text "": the default path */
export function pathProblem(text: string): string | null {
  return text.trim() === '' || text.trim().startsWith('/') ? null : t('A path that begins with /');
}

/** The lines of a field that say something. */
export function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line.trim() !== '');
}

/** Variables as a field shows them, one NAME=value a line. */
export function envText(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n');
}

/**
 * A list as a form sends it, one item a line. A value with a line break in it cannot be told from two, so a field that
 * nobody touched gives back what is stored.
 */
export function listOf(text: string, stored: readonly string[]): readonly string[] {
  return text === stored.join('\n') ? stored : linesOf(text);
}

/** As `listOf`, for variables. */
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

/** What is wrong with a field of variables; null: nothing. */
export function envProblem(text: string): string | null {
  return linesOf(text).every((line) => /^[A-Za-z_][A-Za-z0-9_]*=/.test(line))
    ? null
    : 'One NAME=value per line';
}

/** What is wrong with a path; null: nothing. @param text "" is the default */
export function pathProblem(text: string): string | null {
  return text.trim() === '' || text.trim().startsWith('/') ? null : 'A path that begins with /';
}

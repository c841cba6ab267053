/** Variables by name. */
export type Variables = Readonly<Record<string, string>>;

const LINE = /^([A-Z][A-Z0-9_]*)='([^']*)'$/;

/**
 * The text of an environment file that systemd (EnvironmentFile=), `node --env-file` and a shell read alike: each
 * value in single quotes, inside which nothing has a meaning.
 * @throws when a value holds a single quote or a line break, which the three read differently
 */
export function renderEnvironment(variables: Variables): string {
  return Object.entries(variables)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => {
      if (/['\n\r\0]/.test(value)) {
        throw new Error(
          `${name}: expected a value without single quotes and line breaks; put it into a file and name that by ${name}_FILE`,
        );
      }
      return `${name}='${value}'\n`;
    })
    .join('');
}

/** What renderEnvironment wrote; lines of another form, a person's comments among them, are left out. */
export function parseEnvironment(text: string): Record<string, string> {
  const entries = text.split('\n').flatMap((line) => {
    const match = LINE.exec(line.trim());
    return match ? [[match[1] ?? '', match[2] ?? ''] as const] : [];
  });
  return Object.fromEntries(entries);
}

/**
 * The environment of the installed agent: what it had, and over it what this call was given. A variable given as
 * a file takes the place of the value itself, and the other way round; one given empty is removed.
 * @param given an environment; only the agent's own variables (SERVICE_…) of it count
 */
export function mergeEnvironment(
  stored: Variables,
  given: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const merged: Record<string, string> = { ...stored };
  for (const [name, value] of Object.entries(given)) {
    if (!name.startsWith('SERVICE_') || value === undefined) continue;
    delete merged[name];
    delete merged[name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : `${name}_FILE`];
    if (value !== '') merged[name] = value;
  }
  return merged;
}

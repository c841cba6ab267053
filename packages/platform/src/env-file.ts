import type { Environment } from './variables.ts';

/** Variables by name. */
type Variables = Readonly<Record<string, string>>;

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
 * The environment of an installed service: what it had, and over it what this call was given. A variable given as a
 * file takes the place of the value itself, and the other way round; one given empty is removed.
 * @param isOwn whether the service knows a variable of this name, without the suffix _FILE; others are left out
 */
export function mergeEnvironment(
  stored: Variables,
  given: Environment,
  isOwn: (name: string) => boolean,
): Record<string, string> {
  const merged: Record<string, string> = { ...stored };
  for (const [key, value] of Object.entries(given)) {
    // A variable's own name may end with _FILE, such as SERVICE_SEED_FILE.
    const name = isOwn(key) ? key : key.replace(/_FILE$/, '');
    if (!isOwn(name) || value === undefined) continue;
    delete merged[key];
    delete merged[key === name ? `${name}_FILE` : name];
    if (value !== '') merged[key] = value;
  }
  return merged;
}

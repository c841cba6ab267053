import type { Environment } from './variables.ts';

/** Variables of an environment, by name. */
type Variables = Readonly<Record<string, string>>;

/** A value in single or double quotes, or without quotes, as people write it by hand. */
const LINE = /^([A-Z][A-Z0-9_]*)=(?:'([^']*)'|"([^"\\]*)"|([^\s'"\\#]*))$/;

/**
 * Text of an environment file that systemd (EnvironmentFile=), `node --env-file` and a shell read in the same way. Each
 * value is in single quotes, in which no character is special.
 * @throws when a value contains a single quote or line break, because the three read these differently
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

/** Parses an environment file. Comments and lines that the three would read differently are skipped. */
export function parseEnvironment(text: string): Record<string, string> {
  const entries = text.split('\n').flatMap((line) => {
    const match = LINE.exec(line.trim());
    return match ? [[match[1] ?? '', match[2] ?? match[3] ?? match[4] ?? ''] as const] : [];
  });
  return Object.fromEntries(entries);
}

/**
 * Environment of an installed service: the stored variables, overridden by those of this call. A variable and its _FILE
 * form replace each other; an empty variable is removed.
 * @param isOwn whether the service uses a variable with this name (without _FILE); other variables are dropped
 */
export function mergeEnvironment(
  stored: Variables,
  given: Environment,
  isOwn: (name: string) => boolean,
): Record<string, string> {
  const merged: Record<string, string> = { ...stored };
  for (const [key, value] of Object.entries(given)) {
    // A variable's own name may end with _FILE, for example SERVICE_SEED_FILE.
    const name = isOwn(key) ? key : key.replace(/_FILE$/, '');
    if (!isOwn(name) || value === undefined) continue;
    delete merged[key];
    delete merged[key === name ? `${name}_FILE` : name];
    if (value !== '') merged[key] = value;
  }
  return merged;
}

/** Variables of the environment that this version knows by name and does not act on. No I/O. */

/** Why each of them has no effect, as a clause, by its name. */
export type IgnoredVariables = Readonly<Record<string, string>>;

/**
 * What a program says at its start about variables that are set and have no effect, in one sentence.
 * A variable counts as set when it, or its name with `_FILE`, has a value.
 * @returns null when none of them is set; values are never shown
 */
export function describeIgnored(
  ignored: IgnoredVariables,
  environment: Readonly<Record<string, string | undefined>>,
): string | null {
  const set = Object.keys(ignored).filter((name) => environment[name] || environment[`${name}_FILE`]);
  if (set.length === 0) return null;
  const named = set.map((name) => `${name} (${ignored[name]})`);
  return `set, and without effect in this version: ${named.join(', ')}`;
}

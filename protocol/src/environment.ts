/** Environment variables that this version knows but does not use. No I/O. */

/** For each variable that has no effect: the reason, as a clause. */
export type IgnoredVariables = Readonly<Record<string, string>>;

/**
 * One sentence that lists the variables that are set but have no effect, for the start of a program. A variable counts
 * as set if it has a value, or if the variable with the suffix `_FILE` has a value.
 * @returns null: there are no such variables. Values are never shown
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

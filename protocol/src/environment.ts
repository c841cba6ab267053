/** Environment variables that this version knows but does not use. No I/O. */

/** For each variable without effect: the reason, as a clause. */
export type IgnoredVariables = Readonly<Record<string, string>>;

/**
 * One sentence about set variables without effect, for the start of a program. A variable is set if it, or its name
 * with `_FILE`, has a value.
 * @returns null without such variables; values are never shown
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

/** The chain with one rung moved up (-1) or down (1); unchanged at the ends. */
export function moved(chain: readonly string[], index: number, by: -1 | 1): string[] {
  const next = [...chain];
  const [here, there] = [next[index], next[index + by]];
  if (here === undefined || there === undefined) return next;
  next[index] = there;
  next[index + by] = here;
  return next;
}

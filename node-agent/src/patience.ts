/**
 * Variable with the factor of withPatience(), a number above 0. Only tests set it, because on a busy machine a healthy
 * program may start or answer later than the product allows. The agent's own programs inherit the variable; a session's
 * app does not. Tests of the limits themselves run without the variable.
 */
const VARIABLE = 'FOOTLIGHT_TEST_PATIENCE';
const given = Number(process.env[VARIABLE]);
const FACTOR = given > 0 && Number.isFinite(given) ? given : 1;

/** Multiplies a time limit for another program by the factor, in tests only. @returns the limit in the same unit */
export function withPatience(limit: number): number {
  return limit * FACTOR;
}

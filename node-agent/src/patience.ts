/**
 * Variable with the factor of withPatience(), a number above 0. Only tests set it: on a machine whose processors are
 * all busy, a healthy program may start or answer later than the product allows. The agent's own programs inherit it,
 * and a session's app does not. Tests of the limits themselves run without it.
 */
const VARIABLE = 'FOOTLIGHT_TEST_PATIENCE';
const given = Number(process.env[VARIABLE]);
const FACTOR = given > 0 && Number.isFinite(given) ? given : 1;

/** @returns a limit on the time of another program, in its own unit; unchanged outside tests */
export function withPatience(limit: number): number {
  return limit * FACTOR;
}

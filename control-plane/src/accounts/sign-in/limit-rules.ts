/**
 * When a sign-in or a claim must wait. Pure: the functions receive the state and the time, and return a wait or the
 * next state. rate-limits.ts stores the states. Source: docs/people.md, "Rate limits".
 */
import type { LimitVerdict } from '../../platform/buckets/bucket-rules.ts';

export interface ClaimLimits {
  /** Number of rejected tokens after which an address must pause. */
  maxRejected: number;
  /** Length of the pause, measured from the last admitted attempt. */
  pauseMs: number;
  inFlightPerAddress: number;
  inFlightTotal: number;
}

/** Attempts of an address with a wrong token, or with a token that is not checked yet. */
export interface Rejected {
  count: number;
  /** Time of its last admitted attempt. */
  lastMs: number;
}

/** Remaining pause of an address (ms); 0: the address may try now. */
export const claimPauseMs = (limits: ClaimLimits, { count, lastMs }: Rejected, nowMs: number): number =>
  count < limits.maxRejected ? 0 : Math.max(0, lastMs + limits.pauseMs - nowMs);

/** Attempts in flight are answered soon, so a refused client may retry at once. */
const SOON_MS = 1;

/**
 * Decides about one attempt to claim the instance before its token is read. Every admitted attempt counts as rejected
 * until its token is right, so concurrent attempts cannot exceed the limit.
 * @param known undefined: this address has no stored attempts
 */
export function judgeClaim(
  limits: ClaimLimits,
  known: Rejected | undefined,
  inFlight: { address: number; total: number },
  nowMs: number,
): LimitVerdict<Rejected> {
  if (inFlight.address >= limits.inFlightPerAddress || inFlight.total >= limits.inFlightTotal)
    return { waitMs: SOON_MS };
  const waitMs = known === undefined ? 0 : claimPauseMs(limits, known, nowMs);
  if (waitMs > 0) return { waitMs };
  const expired = known === undefined || nowMs - known.lastMs >= limits.pauseMs;
  return { next: { count: expired ? 1 : known.count + 1, lastMs: nowMs } };
}

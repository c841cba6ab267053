/**
 * When a sign-in or a claim must wait. Pure: state and the time in, a wait or the next state out; rate-limits.ts keeps
 * the states. Source: docs/people.md, "Rate limits".
 */
import type { LimitVerdict } from '../../platform/buckets/bucket-rules.ts';

export interface ClaimLimits {
  /** Rejected tokens after which an address must pause. */
  maxRejected: number;
  /** The pause, counted from the last admitted attempt. */
  pauseMs: number;
  inFlightPerAddress: number;
  inFlightTotal: number;
}

/** Attempts of an address whose token was not right, or is not known yet. */
export interface Rejected {
  count: number;
  /** Time of its last admitted attempt. */
  lastMs: number;
}

/** Rest of an address's pause (ms); 0: none. */
export const claimPauseMs = (limits: ClaimLimits, { count, lastMs }: Rejected, nowMs: number): number =>
  count < limits.maxRejected ? 0 : Math.max(0, lastMs + limits.pauseMs - nowMs);

/** Answers of attempts in flight come soon, so a refused one may try at once. */
const SOON_MS = 1;

/**
 * One attempt to claim the instance, before its token is read. Every admitted attempt counts as rejected until its
 * token is right, so concurrent attempts cannot exceed the limit.
 * @param known undefined: no earlier attempt of this address
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

/**
 * Computes the time window that a read of a session's telemetry covers: two to ten minutes. Pure. Source:
 * docs/troubleshooting.md, "Verdicts".
 */
import { MINUTE_MS } from '@footlight/platform';

const DEFAULT_MS = 5 * MINUTE_MS;
const SHORTEST_MS = 2 * MINUTE_MS;
const LONGEST_MS = 10 * MINUTE_MS;

/** Epoch milliseconds; both ends are included. */
export interface TraceWindow {
  from_ms: number;
  to_ms: number;
}

/** Ends of the window that a caller requested, epoch ms; undefined: missing or malformed. */
export interface WindowEnds {
  from?: number | undefined;
  to?: number | undefined;
}

/** @param endedAtMs end of the session; null: the session is live */
export function windowOf(asked: WindowEnds, endedAtMs: number | null, nowMs: number): TraceWindow {
  const to_ms = asked.to ?? endedAtMs ?? nowMs;
  const from = asked.from === undefined || asked.from >= to_ms ? to_ms - DEFAULT_MS : asked.from;
  const lengthMs = Math.min(Math.max(to_ms - from, SHORTEST_MS), LONGEST_MS);
  return { from_ms: to_ms - lengthMs, to_ms };
}

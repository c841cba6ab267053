/**
 * Verdict on the network path from a session's host to its viewer, from the host's samples.
 *
 * no verdict ──► healthy ◄── above the floor, from every state
 *
 * Uninterrupted time at the floor: 30 s network_degrading ──► 90 s abr_at_floor ──► 180 s watched: unsustainable. Only
 * time between two samples counts. A gap, or a sample without a rate, resets the time and the verdict, because a path
 * that was not measured must not count as bad.
 *
 * Pure, and allocates only at the floor. Times are milliseconds on the monotonic clock. Source: docs/sessions.md,
 * "Health".
 */

import { SECOND_MS } from '@footlight/platform';
import { HEARTBEAT_INTERVAL_MS } from '@footlight/protocol/agent';
import type { HealthState } from '@footlight/protocol/telemetry';

export type NetworkState = Extract<
  HealthState,
  'healthy' | 'network_degrading' | 'abr_at_floor' | 'unsustainable'
>;

/** States at the floor, the worst first. watched: only time with a connected viewer counts. */
const AT_FLOOR: readonly { state: NetworkState; afterMs: number; watched: boolean }[] = [
  { state: 'unsustainable', afterMs: 180 * SECOND_MS, watched: true },
  { state: 'abr_at_floor', afterMs: 90 * SECOND_MS, watched: false },
  { state: 'network_degrading', afterMs: 30 * SECOND_MS, watched: false },
];
/**
 * A longer time between two samples is a gap. A sample is sent once per heartbeat interval, so in a gap three are
 * missing.
 */
export const MAX_SAMPLE_GAP_MS = 3 * HEARTBEAT_INTERVAL_MS;

export interface NetworkHealth {
  /** null: there is no verdict. */
  readonly state: NetworkState | null;
  /** A short phrase; null: the state needs no reason. */
  readonly reason: string | null;
  /** Time at the floor up to the newest sample; null: the rate is above the floor. */
  readonly atFloor: { readonly sampledAt: number; readonly forMs: number; readonly watchedMs: number } | null;
}

/** Rates in kbit/s. */
export interface RateSample {
  /** null: not measured, for example without rate control. */
  setpointKbps: number | null;
  /** Floor that applied at the time of the sample; null: unknown. */
  floorKbps: number | null;
  launchKbps: number;
  /** Start of the unbroken time with a connected viewer's peer connection; null: no viewer is connected. */
  watchedSinceMs: number | null;
}

export const NOTHING_KNOWN: NetworkHealth = { state: null, reason: null, atFloor: null };
const HEALTHY: NetworkHealth = { state: 'healthy', reason: null, atFloor: null };

/** Returns the verdict after one more sample. */
export function judgeSample(before: NetworkHealth, sample: RateSample, now: number): NetworkHealth {
  const { setpointKbps, floorKbps, launchKbps, watchedSinceMs } = sample;
  if (setpointKbps === null || floorKbps === null) return NOTHING_KNOWN;
  // A stream that was launched at its floor has its full rate there.
  if (setpointKbps > floorKbps || setpointKbps >= launchKbps) return HEALTHY;
  const { atFloor } = before;
  const since = atFloor === null ? now : atFloor.sampledAt;
  const isGap = now - since > MAX_SAMPLE_GAP_MS;
  if (atFloor === null || isGap)
    return {
      ...(isGap ? NOTHING_KNOWN : before),
      atFloor: { sampledAt: now, forMs: 0, watchedMs: 0 },
    };
  const forMs = atFloor.forMs + now - since;
  const watchedMs = atFloor.watchedMs + (watchedSinceMs === null ? 0 : now - Math.max(since, watchedSinceMs));
  const reached = AT_FLOOR.find(({ afterMs, watched }) => (watched ? watchedMs : forMs) >= afterMs);
  const isNews = reached !== undefined && reached.state !== before.state;
  return {
    state: isNews ? reached.state : before.state,
    reason: isNews
      ? `not above the lowest rate of ${Math.round(floorKbps)} kbit/s for ${reached.afterMs / SECOND_MS} s`
      : before.reason,
    atFloor: { sampledAt: now, forMs, watchedMs },
  };
}

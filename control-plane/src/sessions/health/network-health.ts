/**
 * What the samples of a session's host say of the way from it to the viewer.
 *
 * nothing known ──► healthy ◄── above the floor, from every state
 *
 * At the floor without a break: 30 s network_degrading ──► 90 s abr_at_floor ──► 180 s watched: unsustainable.
 * Only time between two samples counts. After a gap, or a sample that measured nothing, the count begins again and
 * nothing is known: a way that nobody measured is no proof against it.
 *
 * Pure, and allocates only at the floor. Instants are milliseconds on the monotonic clock.
 * Source: docs/sessions.md, "How the stream fares".
 */

import { SECOND_MS } from '@footlight/platform';
import { HEARTBEAT_INTERVAL_MS } from '@footlight/protocol/agent';
import type { HealthState } from '@footlight/protocol/telemetry';

export type NetworkState = Extract<
  HealthState,
  'healthy' | 'network_degrading' | 'abr_at_floor' | 'unsustainable'
>;

/** States at the floor, the worst first. watched: of the time there only that counts in which a viewer was connected. */
const AT_FLOOR: readonly { state: NetworkState; afterMs: number; watched: boolean }[] = [
  { state: 'unsustainable', afterMs: 180 * SECOND_MS, watched: true },
  { state: 'abr_at_floor', afterMs: 90 * SECOND_MS, watched: false },
  { state: 'network_degrading', afterMs: 30 * SECOND_MS, watched: false },
];
/** Samples come once in a heartbeat interval; with this long between two of them nobody knows what was there. */
export const MAX_SAMPLE_GAP_MS = 3 * HEARTBEAT_INTERVAL_MS;

export interface NetworkHealth {
  /** null: nothing is known. */
  readonly state: NetworkState | null;
  /** In a few words; null where the state says it all. */
  readonly reason: string | null;
  /** How long it has been at the floor up to the newest sample; null: it is not. */
  readonly atFloor: { readonly sampledAt: number; readonly forMs: number; readonly watchedMs: number } | null;
}

/** Rates in kbit/s. */
export interface RateSample {
  /** null: not measured, as without rate control. */
  setpointKbps: number | null;
  /** In force when it was measured; null: not known. */
  floorKbps: number | null;
  launchKbps: number;
  /** From when on a viewer's peer connection has been connected without a break; null: none is. */
  watchedSince: number | null;
}

export const NOTHING_KNOWN: NetworkHealth = { state: null, reason: null, atFloor: null };
const HEALTHY: NetworkHealth = { state: 'healthy', reason: null, atFloor: null };

/** What is known after one more sample. */
export function judgeSample(before: NetworkHealth, sample: RateSample, now: number): NetworkHealth {
  const { setpointKbps, floorKbps, launchKbps, watchedSince } = sample;
  if (setpointKbps === null || floorKbps === null) return NOTHING_KNOWN;
  // A stream that is launched at its floor is at its best there.
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
  const watchedMs = atFloor.watchedMs + (watchedSince === null ? 0 : now - Math.max(since, watchedSince));
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

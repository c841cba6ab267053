/** Host settings from which a session's lowest bitrate is computed. */
export interface FloorSettings {
  abr_floor_kbps: number | null;
  abr_floor_ratio: number;
}

/**
 * Lowest bitrate of a session at its launch size, in kbit/s: the host's floor; without it, the rung's floor; otherwise
 * a share of the launch bitrate. While this floor applies, the agent omits it from its metrics, and the control plane
 * computes it with this function.
 * @param rungKbps abr_floor_kbps of the stream; 0: the rung has no floor
 */
export function launchFloorKbps(settings: FloorSettings, launchKbps: number, rungKbps: number): number {
  const own = settings.abr_floor_kbps ?? (rungKbps > 0 ? rungKbps : settings.abr_floor_ratio * launchKbps);
  return Math.min(Math.round(own), launchKbps);
}

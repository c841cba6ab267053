/** The host settings that say how low the rate of a session may go. */
export interface FloorSettings {
  abr_floor_kbps: number | null;
  abr_floor_ratio: number;
}

/**
 * The floor of a session's rate at its launch size, kbit/s: the host's, else the rung's, else a share of the launch
 * bitrate. The agent holds the rate to it, and says nothing of it in its metrics while it is the floor in force; so the
 * control plane computes the same.
 * @param rungKbps abr_floor_kbps of the stream, 0 = none
 */
export function launchFloorKbps(settings: FloorSettings, launchKbps: number, rungKbps: number): number {
  const own = settings.abr_floor_kbps ?? (rungKbps > 0 ? rungKbps : settings.abr_floor_ratio * launchKbps);
  return Math.min(Math.round(own), launchKbps);
}

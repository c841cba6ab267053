/** Host settings that determine a session's lowest bitrate. */
export interface FloorSettings {
  abr_floor_kbps: number | null;
  abr_floor_ratio: number;
}

/**
 * Floor of a session's bitrate at its launch size, kbit/s: the host's, else the rung's, else a share of the launch
 * bitrate. The agent omits it from its metrics while it is in force, so the control plane computes the same value.
 * @param rungKbps abr_floor_kbps of the stream, 0 = none
 */
export function launchFloorKbps(settings: FloorSettings, launchKbps: number, rungKbps: number): number {
  const own = settings.abr_floor_kbps ?? (rungKbps > 0 ? rungKbps : settings.abr_floor_ratio * launchKbps);
  return Math.min(Math.round(own), launchKbps);
}

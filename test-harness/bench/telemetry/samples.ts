/** Measurements of a session, as agents and pages report them. Pure. */

/** Number of different samples. After this number the samples repeat. */
export const DIFFERENT_SAMPLES = 60;

const varied = (base: number, n: number) => Math.round((base + (n % 7) * 0.37) * 100) / 100;

/** Every figure of a page, for one second. */
export function viewerMetrics(n: number): Record<string, number | boolean> {
  return {
    fps: varied(58, n),
    bitrate_kbps: varied(5_200, n),
    rtt_ms: varied(12, n),
    jitter_ms: varied(2, n),
    jitter_buffer_ms: varied(21, n),
    playout_target_ms: varied(20, n),
    decode_ms: varied(3, n),
    packets_lost: n,
    frames_dropped: n,
    freeze_count: 0,
    present_n: 59,
    present_fps: varied(59, n),
    present_fps_median: varied(59, n),
    present_interval_median_ms: varied(16, n),
    present_interval_sd_ms: varied(2, n),
    present_interval_p95_ms: varied(18, n),
    present_interval_max_ms: varied(33, n),
    present_beat_fraction: 0,
    present_long_frames: 0,
    rvfc_capture_time_available: true,
    rvfc_capture_to_display_ms: varied(48, n),
    glass_to_glass_ms: varied(48, n),
    is_hidden: false,
    abs_capture_time_negotiated: true,
    display_refresh_hz: 60,
    encode_ms: varied(4, n),
    network_pacing_ms: varied(6, n),
    decode_display_ms: varied(20, n),
    click_to_photon_ms: varied(52, n),
    click_to_photon_n: 3,
  };
}

/** Every figure of an agent, for five seconds. */
export function hostMetrics(n: number): Record<string, number | string> {
  return {
    source_fps: varied(59, n),
    compositor_fps: varied(59, n),
    compositor_pts_delta_p50_ms: varied(16, n),
    compositor_pts_delta_p95_ms: varied(17, n),
    interpipe_queue_level_max: 1,
    interpipe_queue_drops: 0,
    interpipe_queue_dwell_p50_ms: varied(0.2, n),
    interpipe_queue_dwell_p95_ms: varied(0.9, n),
    fps: varied(58, n),
    encode_ms: varied(4, n),
    encode_ms_p50: varied(4, n),
    encode_ms_p95: varied(6, n),
    encode_ms_max: varied(9, n),
    frames_encoded: 299,
    frames_dropped: 0,
    bitrate_kbps: varied(5_200, n),
    rtp_fps: varied(58, n),
    rtp_bitrate_kbps: varied(5_200, n),
    abr_setpoint_kbps: 6_000,
    gcc_estimate_kbps: varied(9_000, n),
    abr_mode: 'smooth',
    adaptation_state: 'healthy',
  };
}

/** File with the samples for the programs of a bench. */
export interface SamplesFile {
  viewer: object[];
  host: object[];
}

export function samplesFile(): SamplesFile {
  const each = (make: (n: number) => object) => Array.from({ length: DIFFERENT_SAMPLES }, (_, n) => make(n));
  return { viewer: each(viewerMetrics), host: each(hostMetrics) };
}

/**
 * Names of measurements: the keys that agents and browsers report, and the series in which they are shown. A missing
 * value was not measured, which never means zero.
 */

/** Series of the agent: name of the series → reported key. */
export const AGENT_SERIES = {
  'encoder.fps': 'fps',
  'encoder.bitrate_kbps': 'bitrate_kbps',
  'encoder.encode_ms': 'encode_ms',
  'encoder.encode_ms_p50': 'encode_ms_p50',
  'encoder.encode_ms_p95': 'encode_ms_p95',
  'encoder.encode_ms_max': 'encode_ms_max',
  'encoder.frames_encoded': 'frames_encoded',
  'encoder.frames_dropped': 'frames_dropped',
  'source.fps': 'source_fps',
  'compositor.fps': 'compositor_fps',
  'compositor.pts_delta_p50_ms': 'compositor_pts_delta_p50_ms',
  'compositor.pts_delta_p95_ms': 'compositor_pts_delta_p95_ms',
  'interpipe.queue_drops': 'interpipe_queue_drops',
  'interpipe.queue_dwell_p50_ms': 'interpipe_queue_dwell_p50_ms',
  'interpipe.queue_dwell_p95_ms': 'interpipe_queue_dwell_p95_ms',
  'interpipe.queue_level_max': 'interpipe_queue_level_max',
  'rtp.fps': 'rtp_fps',
  'rtp.bitrate_kbps': 'rtp_bitrate_kbps',
  'abr.setpoint_kbps': 'abr_setpoint_kbps',
  'transport.gcc_estimate_kbps': 'gcc_estimate_kbps',
} as const;

/** Series of a viewer: name of the series → reported key. */
export const CLIENT_SERIES = {
  'client.fps': 'fps',
  'client.bitrate_kbps': 'bitrate_kbps',
  'client.decode_ms': 'decode_ms',
  'client.decode_display_ms': 'decode_display_ms',
  'client.glass_to_glass_ms': 'glass_to_glass_ms',
  'client.rvfc_capture_to_display_ms': 'rvfc_capture_to_display_ms',
  'client.rvfc_capture_time_available': 'rvfc_capture_time_available',
  'client.abs_capture_time_negotiated': 'abs_capture_time_negotiated',
  'client.display_refresh_hz': 'display_refresh_hz',
  'client.frames_dropped': 'frames_dropped',
  'client.freeze_count': 'freeze_count',
  'client.is_hidden': 'is_hidden',
  'client.playout_target_ms': 'playout_target_ms',
  'client.present_fps': 'present_fps',
  'client.present_fps_median': 'present_fps_median',
  'client.present_interval_median_ms': 'present_interval_median_ms',
  'client.present_interval_sd_ms': 'present_interval_sd_ms',
  'client.present_interval_p95_ms': 'present_interval_p95_ms',
  'client.present_interval_max_ms': 'present_interval_max_ms',
  'client.present_beat_fraction': 'present_beat_fraction',
  'client.present_long_frames': 'present_long_frames',
  'client.present_n': 'present_n',
  'client.click_to_photon_ms': 'click_to_photon_ms',
  'client.click_to_photon_n': 'click_to_photon_n',
  'transport.rtt_ms': 'rtt_ms',
  'transport.jitter_ms': 'jitter_ms',
  'transport.jitter_buffer_ms': 'jitter_buffer_ms',
  'transport.network_pacing_ms': 'network_pacing_ms',
  'transport.packets_lost': 'packets_lost',
} as const;
export type ClientSeriesName = keyof typeof CLIENT_SERIES;

/** Series that have a meaning only in samples for which the capture time was available. */
export const NEEDS_CAPTURE_TIME: ReadonlySet<ClientSeriesName> = new Set<ClientSeriesName>([
  'client.decode_display_ms',
  'client.glass_to_glass_ms',
  'client.rvfc_capture_to_display_ms',
  'transport.network_pacing_ms',
]);

/** Keys of a viewer's sample that are stored; other keys are silently dropped. */
export const CLIENT_METRIC_KEYS = [
  'fps',
  'bitrate_kbps',
  'rtt_ms',
  'jitter_ms',
  'jitter_buffer_ms',
  'decode_ms',
  'packets_lost',
  'frames_dropped',
  'present_fps',
  'present_fps_median',
  'present_interval_median_ms',
  'present_interval_sd_ms',
  'present_interval_p95_ms',
  'present_interval_max_ms',
  'present_beat_fraction',
  'present_long_frames',
  'present_n',
  'playout_target_ms',
  'rvfc_capture_time_available',
  'abs_capture_time_negotiated',
  'freeze_count',
  'display_refresh_hz',
  'glass_to_glass_ms',
  'rvfc_capture_to_display_ms',
  'encode_ms',
  'network_pacing_ms',
  'decode_display_ms',
  'is_hidden',
  'click_to_photon_ms',
  'click_to_photon_n',
] as const;
export type ClientMetricKey = (typeof CLIENT_METRIC_KEYS)[number];
/** Measurements of one second of a viewer, by key. */
export type ClientMetrics = Partial<Record<ClientMetricKey, number | boolean>>;

/** Keys of an agent's sample. */
export const AGENT_METRIC_KEYS = [
  ...Object.values(AGENT_SERIES),
  'rtt_ms',
  'packet_loss',
  'abr_floor_kbps',
  'abr_mode',
  'adaptation_state',
  'render_width',
  'render_height',
  'ui_scale',
  'stream_width',
  'stream_height',
  'external_resize_supported',
  'external_owner',
  'ladder_speed_bias',
  'ladder_res_rung',
  'ladder_fps',
  'live_write_stable',
] as const;
/** Measurements of one window of an agent, by key. Keys of a newer agent are stored too, with any type. */
export type AgentMetrics = Partial<Record<(typeof AGENT_METRIC_KEYS)[number], number | boolean | string>>;

export const ABR_MODES = ['off', 'protective', 'smooth'] as const;
export type AbrMode = (typeof ABR_MODES)[number];
export type AdaptationState = 'healthy' | 'network_congested' | 'encoder_saturated' | 'unknown';

/**
 * Paths of a stream's packets, in the order in which they cost more. udp and tcp: browser and host reach each other; with
 * tcp, the browser connects to the host's fallback port. turn_…: through a TURN server, with the protocol that the
 * browser speaks to it.
 */
export const NETWORK_PATHS = ['udp', 'tcp', 'turn_udp', 'turn_tcp', 'turn_tls'] as const;
export type NetworkPath = (typeof NETWORK_PATHS)[number];

export function isNetworkPath(value: unknown): value is NetworkPath {
  return (NETWORK_PATHS as readonly unknown[]).includes(value);
}

/** A viewer's report on its own playback. */
export const CLIENT_HEALTH = [
  'smooth',
  'decode_degrading',
  'presentation_degrading',
  'backgrounded_or_hidden',
  'client_unsupported',
] as const;
export type ClientHealth = (typeof CLIENT_HEALTH)[number];

export function isClientHealth(value: string): value is ClientHealth {
  return (CLIENT_HEALTH as readonly string[]).includes(value);
}

/** Health of a session as the API shows it. */
export const HEALTH_STATES = [
  'healthy',
  'network_degrading',
  'abr_at_floor',
  'client_decode_degrading',
  'client_presentation_degrading',
  'unsustainable',
  'failed',
] as const;
export type HealthState = (typeof HEALTH_STATES)[number];

import type { EncoderFamily } from '@footlight/protocol';
import type { Flag } from '../codec.ts';

/** Measured encoders. */
export interface CertificationTables {
  encoder_certifications: EncoderCertificationsTable;
}

/** The newest measurement of one rung at one bitrate on one encoder of one GPU. */
export interface EncoderCertificationsTable {
  id: string;
  host_id: string;
  gpu_index: number;
  encoder: EncoderFamily;
  /** The launch profile of the measurement; not part of the key. */
  profile_id: string;
  stream_profile_id: string;
  width: number;
  height: number;
  fps: number;
  bitrate_kbps: number;
  /** capped: barely fast enough. */
  verdict: 'ok' | 'capped' | 'unsafe';
  encode_ms_p50: number;
  encode_ms_p95: number;
  encode_ms_max: number;
  output_fps: number;
  /** Dropped frames per sample; may exceed 1. */
  drop_rate: number;
  /** 0: the bitrate could not be changed while running. */
  live_write_stable: Flag;
  sample_window_ms: number;
  sample_count: number;
  agent_version: string;
  measured_at: number;
}

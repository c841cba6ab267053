import type { Codec, EncoderFamily } from '@footlight/protocol';
import type { Generated } from 'kysely';
import type { Flag } from '../codec.ts';

/** Results of encoder certification. */
export interface CertificationTables {
  encoder_certifications: EncoderCertificationsTable;
  certification_runs: CertificationRunsTable;
  certification_cells: CertificationCellsTable;
  encoder_concurrency: EncoderConcurrencyTable;
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
  /** 0: the bitrate could not be changed while the session ran. */
  live_write_stable: Flag;
  sample_window_ms: number;
  sample_count: number;
  agent_version: string;
  measured_at: number;
}

/**
 * One execution of a plan of cells; a cell is the measurement of one rung at one bitrate. A host has at most one run at
 * a time.
 */
export interface CertificationRunsTable {
  id: string;
  host_id: string;
  status: 'running' | 'completed' | 'failed';
  gpu_index: number;
  encoder: EncoderFamily;
  /** Number of planned cells. */
  total_pts: number;
  /** Number of cells with a verdict; the next columns count them by verdict. */
  completed_pts: Generated<number>;
  summary_ok: Generated<number>;
  summary_capped: Generated<number>;
  summary_unsafe: Generated<number>;
  /** Set when the run failed. */
  error_message: string | null;
  started_at: number;
  ended_at: number | null;
}

/** A measurement that waits for its verdict. The row is deleted with the verdict, or without one after ten minutes. */
export interface CertificationCellsTable {
  id: string;
  host_id: string;
  /** null: the cell's session is being launched. */
  session_id: string | null;
  gpu_index: number;
  encoder: EncoderFamily;
  profile_id: string;
  stream_profile_id: string;
  codec: Codec;
  width: number;
  height: number;
  fps: number;
  bitrate_kbps: number;
  created_at: number;
}

/** Number of simultaneous sessions for one rung and bitrate on one encoder of one GPU. */
export interface EncoderConcurrencyTable {
  host_id: string;
  gpu_index: number;
  encoder: EncoderFamily;
  stream_profile_id: string;
  bitrate_kbps: number;
  /** The largest number of simultaneous sessions that passed the measurement. */
  sessions: number;
  /** JSON array of {n, encode_ms_p95, output_fps}, n ascending. */
  curve: string;
  measured_at: number;
}

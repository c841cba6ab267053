import type { Codec, EncoderFamily, H264Profile, SessionStateName } from '@footlight/protocol';
import type { VideoTopology } from '@footlight/protocol/agent';
import type { Flag } from '../codec.ts';

/** Running apps, the tokens that let a viewer reach them, and the homes that they leave behind. */
export interface SessionsTables {
  sessions: SessionsTable;
  session_placements: SessionPlacementsTable;
  signaling_tokens: SignalingTokensTable;
  storage_homes: StorageHomesTable;
}

export interface SessionsTable {
  id: string;
  user_id: string;
  app_id: string;
  /** null only while a row is pending. */
  host_id: string | null;
  gpu_id: string | null;
  gpu_index: number | null;
  /** The device whose sign-in launched it; null for a sign-in without one, and once the device is gone. */
  device_id: string | null;
  state: SessionStateName;
  state_detail: string | null;
  /** Set only on failed. */
  error_message: string | null;
  failure_code: string | null;
  /** null until the state is terminal. */
  end_reason: string | null;
  /** Why a stop was asked for; becomes end_reason where the agent gives none. */
  stop_reason: string | null;
  app_log_tail: string | null;
  /** Size of the home at the end; null = not reported. */
  home_bytes: number | null;
  profile_id: string | null;
  stream_profile_id: string | null;
  /** Where the picture goes: to viewers, to a display beside the host, or to both. */
  video_topology: VideoTopology;
  /** Encode slots taken from the GPU while the state reserves. */
  encode_slots: number;
  /** The app that owns the home (the parent of a tile); null for an app without a managed home. */
  home_app_id: string | null;
  /** Encoder family that was in effect on the host at launch. */
  encoder: EncoderFamily;
  stream_width: number;
  stream_height: number;
  stream_fps: number;
  stream_bitrate_kbps: number;
  /** Lowest rate of the encoder; 0 = the agent's own. */
  stream_abr_floor_kbps: number;
  /** The floor that the agent makes of it at the launch size; null for sessions of releases that did not keep it. */
  stream_launch_floor_kbps: number | null;
  stream_codec: Codec;
  stream_h264_profile: H264Profile;
  stream_playout0_ms: number;
  stream_mic: Flag;
  stream_recording: Flag;
  /** JSON object; null without a profile in force. */
  codec_decision: string | null;
  negotiated_codec: string | null;
  /** 1 once the agent said that its encoder starts: from then on viewers can be attached. */
  relay_ready: Flag;
  /** The app that the session was last asked to change to; kept until the agent says what became of that. */
  swap_app_id: string | null;
  /** Owner of the home of that app; null for an app without a managed home. */
  swap_home_app_id: string | null;
  /** asked: the agent has not answered yet. taken: it has, and is at it. null: no change of app is under way. */
  swap_state: 'asked' | 'taken' | null;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
  updated_at: number;
}

/** Why a session runs where it runs, as it was decided at its launch. */
export interface SessionPlacementsTable {
  session_id: string;
  /** JSON object, as administrators are answered. */
  explanation: string;
}

/** Single use: the row is deleted by the statement that accepts the token. */
export interface SignalingTokensTable {
  /** SHA-256 hex. */
  token_hash: string;
  session_id: string;
  expires_at: number;
  created_at: number;
}

/** A directory (or engine volume) that belongs to one user, app and host. Rows outlive what they name. */
export interface StorageHomesTable {
  id: string;
  user_id: string | null;
  app_id: string | null;
  host_id: string | null;
  provider: 'local' | 'volume';
  /** Absolute path on the host, or the name of the volume. */
  ref: string;
  bytes_used: number;
  created_at: number;
  last_used_at: number;
  /** Instant from which the home counts as given up; null = in use. */
  gc_after: number | null;
}

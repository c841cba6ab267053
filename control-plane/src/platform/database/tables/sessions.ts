import type {
  Codec,
  EncoderFamily,
  FailureCode,
  H264Profile,
  Open,
  SessionEndReason,
  SessionStateName,
} from '@footlight/protocol';
import type { VideoTopology } from '@footlight/protocol/agent';
import type { GuestRole } from '@footlight/protocol/guests';
import type { Flag } from '../codec.ts';

/** Sessions with their placements, signaling tokens, and homes. */
export interface SessionsTables {
  sessions: SessionsTable;
  session_placements: SessionPlacementsTable;
  signaling_tokens: SignalingTokensTable;
  session_guests: SessionGuestsTable;
  guest_tokens: GuestTokensTable;
  storage_homes: StorageHomesTable;
}

export interface SessionsTable {
  id: string;
  user_id: string;
  app_id: string;
  /** null only while pending. */
  host_id: string | null;
  gpu_id: string | null;
  gpu_index: number | null;
  /** The device of the launch; null: the launch had no device, or the device was deleted. */
  device_id: string | null;
  state: SessionStateName;
  state_detail: string | null;
  /** Set only for failed sessions. */
  error_message: string | null;
  failure_code: Open<FailureCode> | null;
  /** null until the session is in a final state. */
  end_reason: Open<SessionEndReason> | null;
  /** Reason of a requested stop; becomes end_reason if the agent gives none. */
  stop_reason: Open<SessionEndReason> | null;
  app_log_tail: string | null;
  /** Size of the home at the session's end; null: the host did not report it. */
  home_bytes: number | null;
  profile_id: string | null;
  stream_profile_id: string | null;
  /** Target of the picture: viewers, the console, or both. */
  video_topology: VideoTopology;
  /** Encode slots that the session books from state `assigned` to state `stopping`. */
  encode_slots: number;
  /** The app that owns the home (a tile's parent); null without a managed home. */
  home_app_id: string | null;
  /** Encoder family that the host used at the launch. */
  encoder: EncoderFamily;
  stream_width: number;
  stream_height: number;
  stream_fps: number;
  stream_bitrate_kbps: number;
  /** Lowest bitrate of the encoder; 0: the agent's default applies. */
  stream_abr_floor_kbps: number;
  /** The agent's lowest bitrate for the picture size at launch; null for sessions of older releases. */
  stream_launch_floor_kbps: number | null;
  stream_codec: Codec;
  stream_h264_profile: H264Profile;
  stream_playout0_ms: number;
  stream_mic: Flag;
  stream_recording: Flag;
  /** JSON object; null without a profile. */
  codec_decision: string | null;
  negotiated_codec: string | null;
  /** 1 after the agent reported the start of its encoder: viewers can then attach. */
  relay_ready: Flag;
  /** The app of the latest swap request; kept until the agent reports the result. */
  swap_app_id: string | null;
  /** The app that owns the home of the swap's app; null without a managed home. */
  swap_home_app_id: string | null;
  /**
   * asked: the agent has not acknowledged the swap yet. taken: it has acknowledged the swap and is running it. null: no
   * swap is pending.
   */
  swap_state: 'asked' | 'taken' | null;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
  updated_at: number;
}

/** Stored explanation of a session's placement. */
export interface SessionPlacementsTable {
  session_id: string;
  /** JSON object in the form of the API. */
  explanation: string;
}

/** A signaling token works only once: accepting it deletes the row. */
export interface SignalingTokensTable {
  /** SHA-256 hex. */
  token_hash: string;
  session_id: string;
  expires_at: number;
  created_at: number;
}

/** A link of a session for one guest. The guest has joined if there is a name. */
export interface SessionGuestsTable {
  id: string;
  session_id: string;
  /** From 1; unique among the guests of the session that have not ended. */
  slot: number;
  role: GuestRole;
  /** Index of the gamepad of a guest with the role gamepad; null for other roles. */
  pad_index: number | null;
  /** SHA-256 hex of the link's secret. */
  secret_hash: string;
  name: string | null;
  created_at: number;
  expires_at: number;
  /** Time at which the owner removed the guest, or at which the expired link was found; null: not yet. */
  ended_at: number | null;
  /** Time at which the host acknowledged a list without this ended guest; null: not yet, so the list is sent again. */
  end_acked_at: number | null;
}

/**
 * A signaling token of a guest; it works only once. It is not in the table of the owners' tokens, so that a replica of
 * an older release cannot accept it as a token of the owner.
 */
export interface GuestTokensTable {
  /** SHA-256 hex. */
  token_hash: string;
  guest_id: string;
  expires_at: number;
  created_at: number;
}

/** A directory or engine volume of one user, app and host. Rows stay when the user, app or host is deleted. */
export interface StorageHomesTable {
  id: string;
  user_id: string | null;
  app_id: string | null;
  host_id: string | null;
  provider: 'local' | 'volume';
  /** Absolute path on the host, or volume name. */
  ref: string;
  bytes_used: number;
  created_at: number;
  last_used_at: number;
  /** Time when the home was marked for deletion, which starts the grace period; null: the home is not marked. */
  gc_after: number | null;
}

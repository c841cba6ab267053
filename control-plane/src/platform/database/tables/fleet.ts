import type { Generated } from 'kysely';
import type { Flag } from '../codec.ts';

/** Hosts, GPUs and enrollment tokens. */
export interface FleetTables {
  hosts: HostsTable;
  gpus: GpusTable & GpuLoad;
  enrollment_tokens: EnrollmentTokensTable;
}

export interface HostsTable {
  id: string;
  /** Name under which the agent registers; unique. */
  node_name: string;
  status: 'online' | 'offline' | 'draining';
  /** 1: drained by an administrator; survives reconnects. */
  drain_intent: Flag;
  agent_version: string | null;
  /** JSON array of feature names of the newest register. */
  features: string;
  cpu_cores: number | null;
  mem_mb: number | null;
  cpu_model: string | null;
  /** JSON array of {label, path, total_mb, available_mb}; null: never reported. */
  storage: string | null;
  capacity_detection: 'ok' | 'unavailable' | 'failed';
  /** Set when the capacity detection is not ok. */
  capacity_reason: string | null;
  /** JSON array of readiness checks; null: never reported. */
  readiness: string | null;
  /** Time of the last change of the stored readiness. */
  readiness_reported_at: number | null;
  /** JSON array of the codecs of the encoder that the host uses; null: never reported. */
  codecs: string | null;
  /** JSON object codec → {max_pixel_rate_mpix_s}; null: never reported. */
  codec_throughput: string | null;
  /** JSON array of encoder rows; null: never reported. */
  encoders: string | null;
  /** JSON object of the settings in effect, as texts; null: never reported. */
  effective_settings: string | null;
  /** JSON object of the console's capabilities; null: never reported. */
  console_capabilities: string | null;
  /** JSON object that contains only the administrators' overrides. */
  settings_overrides: string;
  /** JSON object with the complete configuration; null: it was never set, and the console is off. */
  console_config: string | null;
  pending_restart: Flag;
  /** SHA-256 hex of the valid node secret. */
  secret_hash: string;
  /** SHA-256 hex of a newer, unused secret; its first use replaces secret_hash. */
  next_secret_hash: string | null;
  /** The one-use token of an unused secret; the first use of the secret marks the token as used. */
  enrollment_token_id: string | null;
  /** Time of the agent's first `capacity` message; null: possibly no agent has the record's secret. */
  first_capacity_at: number | null;
  /** Id of the newest registered agent process. */
  boot_id: string | null;
  /** Highest handled report number of boot_id; null: no report was handled. */
  last_seq: number | null;
  /** Id of the last registered connection, so that a late close of an older connection changes nothing. */
  connection_id: string | null;
  last_registered_at: number | null;
  last_heartbeat_at: number | null;
  created_at: number;
}

export interface GpusTable {
  id: string;
  host_id: string;
  /** 0 to 15, unique per host. */
  gpu_index: number;
  vendor: string;
  model: string;
  vram_mb_total: number;
  /** Reported encode slots. */
  slots_total: number;
  /** Booked encode slots; admission updates the number, and it can be recomputed from the sessions. */
  slots_used: number;
  /**
   * Upper bound of slots_used: slots_total, or, if a report lowered slots_total, the slots that were booked at that
   * time.
   */
  slots_guard: number;
  render_node: string | null;
  /** 0: not in the newest good report; hidden from lists, capacity and placement. */
  reported: Flag;
  /** null: the value was not measured or was implausible. */
  vram_mb_used: number | null;
  vram_mb_free: number | null;
  /** Time of the sample on the control plane's clock; null: there is no sample. */
  vram_sampled_at: number | null;
  created_at: number;
}

/** GPU columns that only admission writes. */
interface GpuLoad {
  /** Number of sessions that reserve slots; updated and recomputed like slots_used. */
  sessions_active: Generated<number>;
}

export interface EnrollmentTokensTable {
  id: string;
  /** SHA-256 hex of the token. */
  token_hash: string;
  note: string;
  /** The only name that the token enrolls; null: any name whose host has not reported its capacity yet. */
  node_name: string | null;
  /** The host name of the agent that presented the token first; other agents may not use the token. */
  bound_node_name: string | null;
  /** The agent's enroll id; null while unbound, or when the agent sent none. */
  bound_enroll_id: string | null;
  /** The host record that the token created or took over. */
  host_id: string | null;
  created_by: string | null;
  created_at: number;
  expires_at: number;
  used_at: number | null;
}

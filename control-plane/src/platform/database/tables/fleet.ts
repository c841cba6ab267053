import type { Generated } from 'kysely';
import type { Flag } from '../codec.ts';

/** Hosts, their GPUs, and the tokens with which new hosts enroll. */
export interface FleetTables {
  hosts: HostsTable;
  gpus: GpusTable & GpuLoad;
  enrollment_tokens: EnrollmentTokensTable;
}

export interface HostsTable {
  id: string;
  /** The name the agent registers with; unique. */
  node_name: string;
  status: 'online' | 'offline' | 'draining';
  /** 1: an administrator drained the host; survives reconnects. */
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
  /** Set when detection is not ok. */
  capacity_reason: string | null;
  /** JSON array of readiness checks; null: never reported. */
  readiness: string | null;
  /** When the stored readiness last changed. */
  readiness_reported_at: number | null;
  /** JSON array of the codecs that the effective encoder makes; null: never reported. */
  codecs: string | null;
  /** JSON object codec → {max_pixel_rate_mpix_s}; null: never reported. */
  codec_throughput: string | null;
  /** JSON array of encoder rows; null: never reported. */
  encoders: string | null;
  /** JSON object of the knobs in use, stringified; null: never reported. */
  effective_settings: string | null;
  /** JSON object of what a local console could use; null: never reported. */
  console_capabilities: string | null;
  /** JSON object, the sparse overrides an administrator made. */
  settings_overrides: string;
  /** JSON object, complete; null: console off. */
  console_config: string | null;
  pending_restart: Flag;
  /** SHA-256 hex of the node secret in force. */
  secret_hash: string;
  /** SHA-256 hex of a secret handed out by a later enrollment and not used yet; its first use replaces secret_hash. */
  next_secret_hash: string | null;
  /** The one-use token behind a secret that was never used; the first use marks the token as used. */
  enrollment_token_id: string | null;
  /** When the agent first got as far as `capacity`; null: the record may have no agent that knows its secret. */
  first_capacity_at: number | null;
  /** Of the newest agent process that registered. */
  boot_id: string | null;
  /** Highest reliable report of boot_id that was handled; null: none. */
  last_seq: number | null;
  /** Names the connection that last registered, so that the late close of an older one changes nothing. */
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
  /** Encode slots as reported. */
  slots_total: number;
  /** Encode slots held by reserving sessions; kept by admission, rebuilt from the sessions. */
  slots_used: number;
  /** What slots_used may never exceed: slots_total, or what was held already when a report lowered it. */
  slots_guard: number;
  render_node: string | null;
  /** 0: not in the newest good report; hidden from lists, capacity and placement. */
  reported: Flag;
  /** null: not measured, or implausible. */
  vram_mb_used: number | null;
  vram_mb_free: number | null;
  /** Control-plane clock; null: no sample. */
  vram_sampled_at: number | null;
  created_at: number;
}

/** What admission alone keeps of a GPU. */
interface GpuLoad {
  /** Reserving sessions on it; kept and rebuilt like slots_used. */
  sessions_active: Generated<number>;
}

export interface EnrollmentTokensTable {
  id: string;
  /** SHA-256 hex of the token. */
  token_hash: string;
  note: string;
  /** The only name it enrolls; null: any name without a record that counts. */
  node_name: string | null;
  /** The pair that presented it first; nobody else may use it from then on. */
  bound_node_name: string | null;
  /** What the agent sent to be recognised by; null while unbound, or when it sent nothing. */
  bound_enroll_id: string | null;
  /** The record it made or took over. */
  host_id: string | null;
  created_by: string | null;
  created_at: number;
  expires_at: number;
  used_at: number | null;
}

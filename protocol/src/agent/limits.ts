/** Bounds and deadlines of /agent/ws, and its close codes. Bytes, milliseconds or counts as the names say. */

/** Version of this protocol that this code speaks, lowest and highest. */
export const AGENT_PROTOCOL = { min: 1, max: 1 } as const;

export const MAX_AGENT_FRAME_BYTES = 1024 * 1024;
export const AGENT_RATE_PER_SECOND = 500;
export const AGENT_RATE_BURST = 2_000;
/** Send queue towards one agent; full means "agent not connected", full for 10 s closes 4429. */
export const AGENT_SEND_QUEUE_MESSAGES = 512;
export const AGENT_SEND_QUEUE_BYTES = 4 * 1024 * 1024;
export const AGENT_SEND_QUEUE_STALL_MS = 10_000;
/** Relay queue of one session's signaling, on the way to its viewer. */
export const RELAY_QUEUE_MESSAGES = 256;
export const RELAY_QUEUE_BYTES = 1024 * 1024;
export const MAX_HOST_SESSIONS = 1024;
export const MAX_EVENT_PAYLOAD_BYTES = 16 * 1024;
export const MAX_DIAG_PAYLOAD_BYTES = 512 * 1024;
export const MAX_HTTP_BODY_BYTES = 64 * 1024;
export const MAX_SCAN_REPORT_BYTES = 4 * 1024 * 1024;
export const MAX_RECORDING_BYTES = 72 * 1024 * 1024;

/** Unseen reliable messages an agent keeps; session_state is never among the dropped. */
export const BACKLOG_MESSAGES = 2_000;
export const BACKLOG_BYTES = 8 * 1024 * 1024;
/** Metric samples kept per session while the link is away. */
export const LATE_METRIC_SAMPLES = 24;
/** Stored acks for repeated command ids. */
export const STORED_ACKS = 512;
export const STORED_ACK_MS = 600_000;
/** Malformed messages within the window after which the socket closes with 4400. */
export const MALFORMED_LIMIT = 20;
export const MALFORMED_WINDOW_MS = 60_000;

export const HEARTBEAT_INTERVAL_MS = 5_000;
/** Each handshake step: register, registered, capacity. */
export const HANDSHAKE_STEP_MS = 15_000;
/** Silence after which either side closes 4408. */
export const READ_DEADLINE_MS = 20_000;
/** Longest respected Retry-After of a refused upgrade. */
export const RETRY_AFTER_MAX_MS = 60_000;
/** Connection time after which the backoff is reset. */
export const BACKOFF_RESET_MS = 60_000;
export const RESTART_REDIAL_MAX_MS = 2_000;
export const SLOW_REDIAL_MS = 60_000;
export const PULL_PROGRESS_INTERVAL_MS = 10_000;
export const STOP_GRACE_DEFAULT_MS = 2_000;

/** Headers of the upgrade and of every agent call, in the spelling of the contract. */
export const AGENT_HEADERS = {
  node: 'X-Service-Node',
  boot: 'X-Service-Boot',
  enroll: 'X-Service-Enroll',
  authorization: 'Authorization',
} as const;
export const NODE_NAME_PATTERN = /^[a-z0-9][a-z0-9._-]{0,62}$/;
export const ENROLL_ID_PATTERN = /^[0-9a-f]{64}$/;
/** The fixed enrollment token of both sides: printable ASCII. */
export const FIXED_TOKEN_PATTERN = /^[\x20-\x7e]{16,256}$/;

export const AGENT_CLOSE = {
  normal: 1000,
  leaving: 1001,
  binary_frame: 1003,
  frame_too_large: 1009,
  restarting: 1012,
  malformed: 4400,
  protocol_unsupported: 4406,
  timed_out: 4408,
  displaced: 4409,
  flooded: 4429,
} as const;
export type AgentCloseName = keyof typeof AGENT_CLOSE;

const NAME_BY_CODE = new Map<number, AgentCloseName>(
  (Object.keys(AGENT_CLOSE) as AgentCloseName[]).map((name) => [AGENT_CLOSE[name], name]),
);

/** Name of a close code of /agent/ws; null for one this protocol does not define. */
export function agentCloseName(code: number): AgentCloseName | null {
  return NAME_BY_CODE.get(code) ?? null;
}

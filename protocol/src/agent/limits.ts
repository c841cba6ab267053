/** Bounds and deadlines of /agent/ws, and its close codes. Bytes, milliseconds or counts as the names say. */

/** Version of this protocol that this code speaks, lowest and highest. */
export const AGENT_PROTOCOL = { min: 1, max: 1 } as const;

/** Twice the longest payload (MAX_DIAG_PAYLOAD_BYTES). */
export const MAX_AGENT_FRAME_BYTES = 1024 * 1024;
/** Seven media workers at their highest rate: 67/s (docs/hosts.md, "Lost connections"). Chosen, not measured. */
export const AGENT_RATE_PER_SECOND = 500;
/** After a reconnect a full host reports each session (MAX_HOST_SESSIONS), then its queued messages. */
export const AGENT_RATE_BURST = 2_000;
/**
 * Send queue towards one agent. While it is full, sending fails with "agent not connected"; full for 10 s closes with
 * 4429. Holds half as many messages as a host has sessions, of 8 KiB on average (the size of an SDP). A healthy link
 * drains it within a round trip, so after 10 s, half the read deadline, the link is dead. Chosen, not measured.
 */
export const AGENT_SEND_QUEUE_MESSAGES = 512;
export const AGENT_SEND_QUEUE_BYTES = 4 * 1024 * 1024;
export const AGENT_SEND_QUEUE_STALL_MS = 10_000;
/**
 * Relay queue of one session's signaling, on the way to its viewer: the candidates of four negotiations
 * (MAX_CANDIDATES) and sixteen of the longest SDPs (MAX_SDP_BYTES). Chosen, not measured.
 */
export const RELAY_QUEUE_MESSAGES = 256;
export const RELAY_QUEUE_BYTES = 1024 * 1024;
/** Above the 1,000 display numbers of a host (docs/limits.md), which run out first. */
export const MAX_HOST_SESSIONS = 1024;
/** An event has a handful of numbers and short texts. Chosen with room, not measured. */
export const MAX_EVENT_PAYLOAD_BYTES = 16 * 1024;
/** Twice the largest capture (CAPTURE_MAX_BYTES), because JSON escapes its text. */
export const MAX_DIAG_PAYLOAD_BYTES = 512 * 1024;

/**
 * Unconfirmed reliable messages that an agent keeps; session_state is never dropped. As many as the control plane
 * accepts in one burst (AGENT_RATE_BURST), of 4 KiB on average. Chosen, not measured.
 */
export const BACKLOG_MESSAGES = 2_000;
export const BACKLOG_BYTES = 8 * 1024 * 1024;
/** Metric samples kept per session while the link is away: two minutes of one each 5 s. */
export const LATE_METRIC_SAMPLES = 24;
/** Stored acks for repeated command ids: one for each message of a full send queue, for sixty times ACK_LIMIT_MS. */
export const STORED_ACKS = 512;
export const STORED_ACK_MS = 600_000;
/**
 * Malformed messages within the window after which the socket closes with 4400: a newer agent may send a field that
 * this version rejects, but a flood would fill the log. Chosen, not measured.
 */
export const MALFORMED_LIMIT = 20;
export const MALFORMED_WINDOW_MS = 60_000;

/** Also the age of the metrics and VRAM samples that a page shows. Chosen, not measured. */
export const HEARTBEAT_INTERVAL_MS = 5_000;
/** Each handshake step: register, registered, capacity. Three heartbeats; a capacity report may wait for a driver. */
export const HANDSHAKE_STEP_MS = 15_000;
/** Silence after which either side closes 4408: four missing heartbeats are not a coincidence. */
export const READ_DEADLINE_MS = 20_000;
/** Longest respected Retry-After of a refused upgrade, so that no answer can keep a host away for longer. */
export const RETRY_AFTER_MAX_MS = 60_000;
/** Connection time after which the backoff is reset: a link that breaks sooner is still failing. */
export const BACKOFF_RESET_MS = 60_000;
/** After an announced restart (close code 1012) agents return at a random time within this window, not all at once. */
export const RESTART_REDIAL_MAX_MS = 2_000;
/**
 * Wait after a refusal that only a person can resolve: a wrong version, a taken name, a second agent with this
 * identity.
 */
export const SLOW_REDIAL_MS = 60_000;
/** Time between SIGTERM and SIGKILL if the command names none: a person waits for the end. Chosen, not measured. */
export const STOP_GRACE_DEFAULT_MS = 2_000;
/** Limit for the ack of a command that the agent only has to accept: two heartbeats. */
export const ACK_LIMIT_MS = 10_000;
/** Limit for the ack of a size change, which the agent sends once the display has changed; a person waits for it. */
export const DISPLAY_ACK_LIMIT_MS = 5_000;

/** Headers of the upgrade and of every agent call. */
export const AGENT_HEADERS = {
  node: 'X-Service-Node',
  boot: 'X-Service-Boot',
  enroll: 'X-Service-Enroll',
  authorization: 'Authorization',
} as const;
/** At most 63 characters, as a label of a host's name (RFC 1035, 2.3.4). */
export const NODE_NAME_PATTERN = /^[a-z0-9][a-z0-9._-]{0,62}$/;
/** 32 random bytes, in hexadecimal digits. */
export const ENROLL_ID_PATTERN = /^[0-9a-f]{64}$/;
/** Enrollment token that both sides are configured with: printable ASCII. */
export const FIXED_TOKEN_PATTERN = /^[\x20-\x7e]{16,256}$/;

/**
 * Close codes. Those below 4000 are defined by RFC 6455 (7.4.1) and its IANA registry, the others by this protocol
 * (7.4.2).
 */
export const AGENT_CLOSE = {
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

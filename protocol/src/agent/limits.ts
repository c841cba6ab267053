/**
 * Limits and deadlines of /agent/ws, and its close codes. The names contain the unit: bytes, milliseconds or a number
 * of items.
 */

/** Lowest and highest version of the agent protocol that this code supports. */
export const AGENT_PROTOCOL = { min: 1, max: 1 } as const;

/** Twice the longest payload (MAX_DIAG_PAYLOAD_BYTES). */
export const MAX_AGENT_FRAME_BYTES = 1024 * 1024;
/**
 * Enough for seven media workers at their highest rate of 67/s each (docs/hosts.md, "Lost connections"). Chosen, not
 * measured.
 */
export const AGENT_RATE_PER_SECOND = 500;
/**
 * Burst that is allowed after a reconnect: a full host reports each session (MAX_HOST_SESSIONS), and then sends its
 * queued messages.
 */
export const AGENT_RATE_BURST = 2_000;
/**
 * Limits of the queue of messages to one agent. While the queue is full, sending fails with "agent not connected". If
 * it is full for 10 s, the connection is closed with 4429. It can contain half as many messages as a host has sessions,
 * with 8 KiB on average (the size of an SDP). A working link empties the queue within a round trip. So after 10 s, half
 * the read deadline, the link counts as dead. Chosen, not measured.
 */
export const AGENT_SEND_QUEUE_MESSAGES = 512;
export const AGENT_SEND_QUEUE_BYTES = 4 * 1024 * 1024;
export const AGENT_SEND_QUEUE_STALL_MS = 10_000;
/**
 * Limits of the queue of one session's signaling messages for its viewer: the candidates of four negotiations
 * (MAX_CANDIDATES) and sixteen of the longest SDPs (MAX_SDP_BYTES). Chosen, not measured.
 */
export const RELAY_QUEUE_MESSAGES = 256;
export const RELAY_QUEUE_BYTES = 1024 * 1024;
/**
 * Largest number of sessions per host. It is larger than the number of a host's displays (1,000, docs/limits.md), so
 * displays are the real limit.
 */
export const MAX_HOST_SESSIONS = 1024;
/** Enough for an event with some numbers and short texts. Chosen with a margin, not measured. */
export const MAX_EVENT_PAYLOAD_BYTES = 16 * 1024;
/** Twice the largest capture (CAPTURE_MAX_BYTES), because JSON escapes its text. */
export const MAX_DIAG_PAYLOAD_BYTES = 512 * 1024;

/**
 * Limits of the unconfirmed reliable messages that an agent stores; session_state is never dropped. The number equals
 * the burst that the control plane accepts (AGENT_RATE_BURST), and the bytes allow 4 KiB per message on average.
 * Chosen, not measured.
 */
export const BACKLOG_MESSAGES = 2_000;
export const BACKLOG_BYTES = 8 * 1024 * 1024;
/** Metric samples that are stored per session without a connection: two minutes, with one sample every 5 s. */
export const LATE_METRIC_SAMPLES = 24;
/**
 * Number of stored acks for repeated command ids, and their age: one for each message of a full send queue, and sixty
 * times ACK_LIMIT_MS.
 */
export const STORED_ACKS = 512;
export const STORED_ACK_MS = 600_000;
/**
 * Number of malformed messages within the window after which the socket is closed with 4400. A few are tolerated,
 * because a newer agent may send a field that this version rejects. But a flood would fill the log. Chosen, not
 * measured.
 */
export const MALFORMED_LIMIT = 20;
export const MALFORMED_WINDOW_MS = 60_000;

/**
 * Interval of heartbeats. It is also the largest age of the metrics and VRAM samples that a page shows. Chosen, not
 * measured.
 */
export const HEARTBEAT_INTERVAL_MS = 5_000;
/**
 * Time limit of each handshake step: register, registered, capacity. It equals three heartbeats, because a capacity
 * report may have to wait for a driver.
 */
export const HANDSHAKE_STEP_MS = 15_000;
/** Silence after which either side closes with 4408. Four missing heartbeats are not a coincidence. */
export const READ_DEADLINE_MS = 20_000;
/**
 * Longest Retry-After of a refused upgrade that agents accept, so that an answer cannot keep a host away for longer.
 */
export const RETRY_AFTER_MAX_MS = 60_000;
/**
 * Duration of a connection after which the backoff is reset. A connection that breaks earlier counts as another
 * failure.
 */
export const BACKOFF_RESET_MS = 60_000;
/**
 * After an announced restart (close code 1012), each agent reconnects at a random time within this time, so that the
 * agents do not reconnect all at once.
 */
export const RESTART_REDIAL_MAX_MS = 2_000;
/**
 * Wait after a refusal that only a person can resolve: a wrong version, a name that is taken, or a second agent with
 * this identity.
 */
export const SLOW_REDIAL_MS = 60_000;
/**
 * Time between SIGTERM and SIGKILL if the command contains none. It is short, because a person waits for the end.
 * Chosen, not measured.
 */
export const STOP_GRACE_DEFAULT_MS = 2_000;
/** Time limit for the ack of a command that the agent only has to accept: two heartbeats. */
export const ACK_LIMIT_MS = 10_000;
/**
 * Time limit for the ack of a size change. The agent sends this ack after the display has changed, and a person waits
 * for it.
 */
export const DISPLAY_ACK_LIMIT_MS = 5_000;

/** Headers of the upgrade and of every agent call. */
export const AGENT_HEADERS = {
  node: 'X-Service-Node',
  boot: 'X-Service-Boot',
  enroll: 'X-Service-Enroll',
  authorization: 'Authorization',
} as const;
/** Form of a node name: at most 63 characters, like a label of a host name (RFC 1035, 2.3.4). */
export const NODE_NAME_PATTERN = /^[a-z0-9][a-z0-9._-]{0,62}$/;
/** 32 random bytes, in hexadecimal digits. */
export const ENROLL_ID_PATTERN = /^[0-9a-f]{64}$/;
/** Enrollment token that is configured on both sides: printable ASCII. */
export const FIXED_TOKEN_PATTERN = /^[\x20-\x7e]{16,256}$/;

/**
 * Close codes. Codes below 4000 are defined by RFC 6455 (7.4.1) and its IANA registry, the other codes by this protocol
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

/**
 * Codes that the programs exchange, each declared once. The codes of HTTP answers are in rest/errors.ts, and close
 * codes are in the modules of their sockets. Programs send only declared codes; parsers also accept a code of a newer
 * version.
 */

declare const unknownCode: unique symbol;
/**
 * A code that this version does not know. Only parsers create values of this type, so a misspelled code does not
 * compile.
 */
export type UnknownCode = string & { readonly [unknownCode]: true };
/** A code from another program. */
export type Open<Code extends string> = Code | UnknownCode;

/**
 * Refusals of the commands that launch a session (session_assign and session_start). The session then fails with the
 * same code.
 */
const LAUNCH_REFUSALS = [
  'no_such_session',
  'unsupported',
  'invalid',
  'policy',
  'busy',
  'internal',
  'unknown_command',
  'encoder_unavailable',
  'image_missing',
] as const;

/** Reasons of a refused command. */
export const REFUSAL_CODES = [
  ...LAUNCH_REFUSALS,
  'no_such_recording',
  'unknown_kind',
  'display_update_rejected',
] as const;
export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** Failures of a session that its media worker can report. */
export const MEDIA_FAILURE_CODES = [
  'encoder_unavailable',
  'encoder_failed',
  'display_failed',
  'capture_failed',
  'internal',
] as const;
export type MediaFailureCode = (typeof MEDIA_FAILURE_CODES)[number];

/** Why a session failed: its launch was refused, or its media worker, its agent or the control plane ended it. */
export const FAILURE_CODES = [
  ...new Set([
    ...LAUNCH_REFUSALS,
    ...MEDIA_FAILURE_CODES,
    'app_exited_early',
    'app_crashed',
    'app_never_presented',
    'image_pull_timeout',
    'media_worker_crashed',
    'display_name_taken',
    'container_failed',
    'home_unavailable',
    'home_base_unavailable',
    'agent_restarted',
    'unsustainable',
  ] as const),
];
export type FailureCode = (typeof FAILURE_CODES)[number];

/**
 * Why a session ended: the reason in session_stop, or without session_stop a reason that the agent or the control plane
 * set.
 */
export const END_REASONS = [
  'user_requested',
  'admin',
  'device_revoked',
  'account_disabled',
  'host_draining',
  'console_disabled',
  'console_display_disconnected',
  'cert bench complete',
  'cert bench timeout',
  'unknown_session',
  'app_exited',
  'idle_timeout',
  'peer_gone',
  'agent_shutdown',
  'agent_restart',
  'orphaned',
  'assign_refused',
  'start_refused',
  'assign_timed_out',
  'start_timed_out',
  'stop_timed_out',
  'host_lost',
  'unsustainable',
  'stopped',
  'failed',
] as const;
/**
 * Includes failure codes, because an agent's failure report without a reason ends the session with its failure code.
 */
export type SessionEndReason = (typeof END_REASONS)[number] | FailureCode;

/** Codes of the signaling message `error`. */
export const SIGNAL_ERROR_CODES = [
  'invalid_message',
  'codec_unsupported',
  'answer_rejected',
  'video_rejected',
  'ice_timeout',
  'relay_unavailable',
  'rate_limited',
  'internal',
] as const;
export type SignalErrorCode = (typeof SIGNAL_ERROR_CODES)[number];

/** Codes of the control channel's message `error`. */
export const CONTROL_ERROR_CODES = ['input_malformed', 'input_flood', 'keyboard_layout_unknown'] as const;
export type ControlErrorCode = (typeof CONTROL_ERROR_CODES)[number];

/**
 * Whether the error text of an agent is about a broken link. The text must be searched, because no code reports this.
 * The text is not shown to a person who stopped the session, because it explains nothing about the app.
 */
export const isTransportError = (error: string): boolean =>
  /\b(?:socket|connection|transport|link|websocket)\b/i.test(error);

/**
 * Codes that the programs exchange, each declared once; those of HTTP answers are in rest/errors.ts, close codes next
 * to their sockets. Programs send declared codes only; parsers keep a code that a newer version sends.
 */

declare const unknownCode: unique symbol;
/** A code that this version does not know. Only parsers make it, so a misspelled code does not compile. */
export type UnknownCode = string & { readonly [unknownCode]: true };
/** A code from another program. */
export type Open<Code extends string> = Code | UnknownCode;

/** Refusals of the commands of a launch, session_assign and session_start: the session fails with the code. */
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
    'agent_restarted',
    'unsustainable',
  ] as const),
];
export type FailureCode = (typeof FAILURE_CODES)[number];

/**
 * Why a session ended: the reason in session_stop, or one set by the agent or the control plane when there was no
 * session_stop.
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
/** An agent's failure report without a reason ends the session with its failure code. */
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
 * Whether the error text of an agent is about a broken link. No code says this: the error of a report is free text.
 * A person who stopped a session is not shown such a text, because it explains nothing about the app.
 */
export const isTransportError = (error: string): boolean =>
  /\b(?:socket|connection|transport|link|websocket)\b/i.test(error);

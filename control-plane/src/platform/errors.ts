import { ERRORS, type ErrorCode, type ErrorEnvelope } from '@footlight/protocol/rest';

/** Extra members of an error answer. Missing keys are omitted from the envelope. */
export interface ErrorExtras {
  /** Replaces the code's default message; shown to people, never parsed. */
  message?: string;
  /** Replaces the code's status for a code with two statuses (503 `internal`). */
  status?: number;
  /** The conflicting session, if known. */
  session_id?: string;
  live_sessions?: number;
  derived_tiles?: { id: string; name: string }[];
  /** The conflicting certification run, if known. */
  run_id?: string;
  /** Value of the Retry-After header, whole seconds. */
  retryAfterSecs?: number;
  headers?: Record<string, string>;
  /** Members next to `error`; only for client_too_old. */
  siblings?: Record<string, string>;
}

/** A refusal for the client. Services throw it; one handler writes the envelope. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly extras: ErrorExtras;

  constructor(code: ErrorCode, extras: ErrorExtras = {}) {
    super(extras.message ?? ERRORS[code].message);
    this.name = 'ApiError';
    this.code = code;
    this.status = extras.status ?? ERRORS[code].status;
    this.extras = extras;
  }

  /** The JSON body of the answer. */
  envelope(): ErrorEnvelope {
    const { session_id, live_sessions, derived_tiles, run_id } = this.extras;
    return {
      error: {
        code: this.code,
        message: this.message,
        ...(session_id !== undefined && { session_id }),
        ...(live_sessions !== undefined && { live_sessions }),
        ...(derived_tiles !== undefined && { derived_tiles }),
        ...(run_id !== undefined && { run_id }),
      },
      ...this.extras.siblings,
    };
  }
}

/** Creates a 400 validation_failed. @param message a sentence that names the field */
export function invalid(message: string): ApiError {
  return new ApiError('validation_failed', { message });
}

/** Part of an id from a path that a message quotes; ids of operators can be long. */
const MAX_QUOTED_CHARACTERS = 100;

/**
 * Creates a 404 not_found that names the missing thing: "There is no app 0192…".
 * @param what the kind of the thing, as in the documentation: "app", "launch profile"
 */
export function noSuch(what: string, id: string): ApiError {
  return new ApiError('not_found', { message: `There is no ${what} ${id.slice(0, MAX_QUOTED_CHARACTERS)}.` });
}

/**
 * Creates a 401 for an invalid node credential. Objects that belong to other hosts get the same answer, so that a host
 * cannot find out that they exist.
 */
export function badNodeCredential(): ApiError {
  return new ApiError('unauthorized', { message: 'The node credential is not valid.' });
}

/**
 * Creates a 503 internal: something that this answer needs is temporarily unavailable. `retryAfterSecs` in whole
 * seconds.
 */
export function unavailable(message: string, retryAfterSecs = 1): ApiError {
  return new ApiError('internal', { message, status: 503, retryAfterSecs });
}

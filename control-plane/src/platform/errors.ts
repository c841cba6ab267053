import { ERRORS, type ErrorCode, type ErrorEnvelope } from '@footlight/protocol/rest';

/** Extra members of an error answer. Missing keys are omitted from the envelope. */
export interface ErrorExtras {
  /** Replaces the code's default message; shown to people, never parsed. */
  message?: string;
  /** Replaces the code's status where one code has two (503 `internal`). */
  status?: number;
  /** The conflicting session, if known. */
  session_id?: string;
  live_sessions?: number;
  derived_tiles?: { id: string; name: string }[];
  /** Whole seconds for the Retry-After header. */
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
    const { session_id, live_sessions, derived_tiles } = this.extras;
    return {
      error: {
        code: this.code,
        message: this.message,
        ...(session_id !== undefined && { session_id }),
        ...(live_sessions !== undefined && { live_sessions }),
        ...(derived_tiles !== undefined && { derived_tiles }),
      },
      ...this.extras.siblings,
    };
  }
}

/** 400 validation_failed with a sentence that names the field. */
export function invalid(message: string): ApiError {
  return new ApiError('validation_failed', { message });
}

/**
 * 401 for a node credential that is not valid, and for what a host may not know to exist: one answer, so that it cannot
 * tell them apart.
 */
export function badNodeCredential(): ApiError {
  return new ApiError('unauthorized', { message: 'The node credential is not valid.' });
}

/** 503 internal: a dependency of this answer is temporarily down. `retryAfterSecs` in whole seconds. */
export function unavailable(message: string, retryAfterSecs = 1): ApiError {
  return new ApiError('internal', { message, status: 503, retryAfterSecs });
}

import { ERRORS, type ErrorCode } from '@footlight/protocol/rest';

/** What an error answer may carry besides its code. Absent keys are left out of the envelope. */
export interface ErrorExtras {
  /** Replaces the default sentence of the code; shown to people, never parsed. */
  message?: string;
  /** Replaces the status of the code, where one code is answered with two (503 `internal`). */
  status?: number;
  /** The session that stands in the way, when it is known. */
  session_id?: string;
  live_sessions?: number;
  derived_tiles?: { id: string; name: string }[];
  /** Whole seconds for the Retry-After header. */
  retryAfterSecs?: number;
  headers?: Record<string, string>;
  /** Members beside `error`; used by client_too_old alone. */
  siblings?: Record<string, string>;
}

/** A refusal that the client is told about. Services throw it; one handler writes the envelope. */
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
  envelope(): Record<string, unknown> {
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

/** 503 internal: something this answer needs is away for the moment. `retryAfterSecs` in whole seconds. */
export function unavailable(message: string, retryAfterSecs = 1): ApiError {
  return new ApiError('internal', { message, status: 503, retryAfterSecs });
}

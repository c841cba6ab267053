import type { ErrorCode } from '@footlight/protocol/rest';
import { ApiError } from '../../platform/errors.ts';

/** A refusal as a value, from a rule of sessions. */
export interface Refusal {
  code: ErrorCode;
  /** Missing: the default message of the code is used. */
  message?: string;
  /** The conflicting session, if one exists. */
  session_id?: string;
  /** For the Retry-After header, in whole seconds. */
  retryAfterSecs?: number;
}

export type Refused = { refusal: Refusal };

/** Retry-After of a full fleet, in seconds. */
const RETRY_AFTER_SECS = 5;

export function refusalError({ code, ...extras }: Refusal): ApiError {
  return new ApiError(code, {
    ...extras,
    ...(code === 'capacity_exhausted' && { retryAfterSecs: RETRY_AFTER_SECS }),
  });
}

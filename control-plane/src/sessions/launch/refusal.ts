import type { ErrorCode } from '@footlight/protocol/rest';
import { ApiError } from '../../platform/errors.ts';

/** Why a launch is refused, as a value. */
export interface Refusal {
  code: ErrorCode;
  /** Left out: the sentence of the code. */
  message?: string;
  /** The session that stands in the way, where there is one. */
  session_id?: string;
}

/** How soon to try again where every GPU is taken. */
const RETRY_AFTER_SECS = 5;

export function refusalError({ code, ...extras }: Refusal): ApiError {
  return new ApiError(code, {
    ...extras,
    ...(code === 'capacity_exhausted' && { retryAfterSecs: RETRY_AFTER_SECS }),
  });
}

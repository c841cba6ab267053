import type { Clock } from '@footlight/platform';
import { createTokenBuckets } from '../../platform/buckets/token-buckets.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/message/contract.ts';
import type { SessionRow } from '../record.ts';
import type { Sessions } from '../service.ts';

/** Limit of requests about one session to one endpoint: a burst of ten, then one every two seconds. */
const REQUESTS = { capacity: 10, refillEveryMs: 2_000 };
const RETRY_AFTER_SECS = 2;

/** Admits one request. @throws ApiError 403, 404, 429 */
export type SessionGate = (caller: Caller, id: string) => Promise<SessionRow>;

/**
 * Creates the gate of one endpoint about sessions; owners and administrators may use it. It checks the rights before
 * the rate, so that strangers cannot use up the owner's rate.
 */
export function createSessionGate(sessions: Pick<Sessions, 'read'>, clock: Clock): SessionGate {
  const requests = createTokenBuckets(REQUESTS, clock);
  return async (caller, id) => {
    const session = await sessions.read(caller, id);
    if (requests.tryTake(session.id) > 0)
      throw new ApiError('rate_limited', { retryAfterSecs: RETRY_AFTER_SECS });
    return session;
  };
}

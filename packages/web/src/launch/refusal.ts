import type { Session } from '@footlight/protocol/rest';
import type { ApiFailure } from '../api/client.ts';

/** Reaction of a page to a refused launch. */
export type RefusedLaunch =
  /** the person's own sessions prevent the launch: list them, each with an End button */
  | { kind: 'own'; sessions: readonly Session[] }
  /** a slot may become free: retry after this time (ms); it may also help to end the person's own sessions */
  | { kind: 'wait'; afterMs: number; sessions: readonly Session[] }
  /** a session that the page has not loaded yet prevents the launch */
  | { kind: 'elsewhere'; sessionId: string }
  | { kind: 'tell' };

/** Used if Retry-After is missing. The service sends this value when all slots are in use. */
const USUAL_WAIT_MS = 5_000;

/**
 * Decides how a page reacts to a refused launch. Pure.
 * @param error null: not a refusal, but an error of the page
 * @param live the person's sessions that have not ended
 */
export function judgeRefusal(error: ApiFailure | null, live: readonly Session[]): RefusedLaunch {
  if (error === null) return { kind: 'tell' };
  // A stopping session no longer counts for quota and home, but still uses its slot.
  const open = live.filter(({ state }) => state !== 'stopping');
  switch (error.code) {
    case 'session_quota_exceeded':
      return open.length > 0 ? { kind: 'own', sessions: open } : { kind: 'tell' };
    case 'home_in_use': {
      const holder = open.filter(({ id }) => id === error.sessionId);
      if (holder.length > 0) return { kind: 'own', sessions: holder };
      if (error.sessionId === undefined || live.some(({ id }) => id === error.sessionId))
        return { kind: 'tell' };
      return { kind: 'elsewhere', sessionId: error.sessionId };
    }
    case 'capacity_exhausted':
      return { kind: 'wait', afterMs: waitOf(error), sessions: open };
    case 'rate_limited':
      return { kind: 'wait', afterMs: waitOf(error), sessions: [] };
    default:
      return { kind: 'tell' };
  }
}

function waitOf({ retryAfterSecs }: ApiFailure): number {
  return retryAfterSecs === undefined ? USUAL_WAIT_MS : Math.max(1, retryAfterSecs) * 1000;
}

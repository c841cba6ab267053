import { BACKOFF_MIN_MS, backoffMs } from '@footlight/protocol';
import {
  AGENT_CLOSE,
  BACKOFF_RESET_MS,
  RESTART_REDIAL_MAX_MS,
  RETRY_AFTER_MAX_MS,
  SLOW_REDIAL_MS,
} from '@footlight/protocol/agent';

/** How a connection or a connection attempt ended. */
export type LinkEnd =
  | { kind: 'closed'; code: number; connectedMs: number }
  | { kind: 'refused'; status: number; enrolling: boolean; retryAfterMs: number | null }
  | { kind: 'unreachable' };

export interface Redial {
  delayMs: number;
  /** Number of consecutive failures; the next delay depends on it. */
  attempt: number;
}

/**
 * Converts a Retry-After header in whole seconds, the only form that the control plane sends, to milliseconds.
 * @returns null: the header is missing or has another form
 */
export function retryAfterMs(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : null;
}

/**
 * Decides the time of the next connection attempt. Pure.
 *
 * @param attempt number of consecutive failures before this one
 * @param random uniform in [0, 1)
 */
export function decideRedial(end: LinkEnd, attempt: number, random: number): Redial {
  if (end.kind === 'closed') {
    switch (end.code) {
      case AGENT_CLOSE.restarting:
        return { delayMs: random * RESTART_REDIAL_MAX_MS, attempt: 0 };
      case AGENT_CLOSE.protocol_unsupported:
      // Another process uses this identity. An immediate reconnect would displace that process, and the two would
      // displace each other forever.
      case AGENT_CLOSE.displaced:
        return { delayMs: SLOW_REDIAL_MS, attempt: 0 };
      default: {
        const from = end.connectedMs >= BACKOFF_RESET_MS ? 0 : attempt;
        return { delayMs: backoffMs(from, random), attempt: from + 1 };
      }
    }
  }
  // The name is taken, or the token is not valid for this name; only an administrator can change that.
  if (end.kind === 'refused' && end.enrolling && end.status === 409) {
    return { delayMs: SLOW_REDIAL_MS, attempt: 0 };
  }
  const askedMs = end.kind === 'refused' ? end.retryAfterMs : null;
  // Many agents receive the same Retry-After, so each agent adds a random delay.
  const heldMs = askedMs === null ? 0 : Math.min(askedMs + BACKOFF_MIN_MS * random, RETRY_AFTER_MAX_MS);
  return { delayMs: Math.max(backoffMs(attempt, random), heldMs), attempt: attempt + 1 };
}

export interface CredentialFacts {
  hasSecret: boolean;
  hasToken: boolean;
  /** Number of consecutive 401 answers to the stored secret. */
  unauthorizedInRow: number;
  /** Time since the last enrollment attempt; null: there was no attempt. */
  sinceEnrollMs: number | null;
}

/**
 * Selects the credential of the next attempt. A stored secret is never deleted, because a control plane restored from a
 * backup may accept it again. After three refusals of the secret, a configured token is tried as well.
 */
export function decideCredential(facts: CredentialFacts): 'secret' | 'enroll' | 'none' {
  if (!facts.hasSecret) return facts.hasToken ? 'enroll' : 'none';
  const enrollDue = facts.sinceEnrollMs === null || facts.sinceEnrollMs >= SLOW_REDIAL_MS;
  return facts.unauthorizedInRow >= 3 && facts.hasToken && enrollDue ? 'enroll' : 'secret';
}

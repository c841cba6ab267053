import { BACKOFF_MIN_MS, backoffMs } from '@footlight/protocol';
import {
  AGENT_CLOSE,
  BACKOFF_RESET_MS,
  RESTART_REDIAL_MAX_MS,
  RETRY_AFTER_MAX_MS,
  SLOW_REDIAL_MS,
} from '@footlight/protocol/agent';

/** How a connection, or the attempt at one, ended. */
export type LinkEnd =
  | { kind: 'closed'; code: number; connectedMs: number }
  | { kind: 'refused'; status: number; enrolling: boolean; retryAfterMs: number | null }
  | { kind: 'unreachable' };

export interface Redial {
  delayMs: number;
  /** Failures in a row that the next delay doubles from (count). */
  attempt: number;
}

/**
 * The wait that a Retry-After header asks for, in milliseconds. Only whole seconds are read, the form that the control
 * plane sends. @returns null: absent or unreadable
 */
export function retryAfterMs(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : null;
}

/**
 * When to dial again. Pure.
 *
 * @param attempt failures in a row before this one (count)
 * @param random uniform in [0, 1)
 */
export function decideRedial(end: LinkEnd, attempt: number, random: number): Redial {
  if (end.kind === 'closed') {
    switch (end.code) {
      case AGENT_CLOSE.restarting:
        return { delayMs: random * RESTART_REDIAL_MAX_MS, attempt: 0 };
      case AGENT_CLOSE.protocol_unsupported:
      // Another process holds this identity: fighting over it would throw both out in turns.
      case AGENT_CLOSE.displaced:
        return { delayMs: SLOW_REDIAL_MS, attempt: 0 };
      default: {
        const from = end.connectedMs >= BACKOFF_RESET_MS ? 0 : attempt;
        return { delayMs: backoffMs(from, random), attempt: from + 1 };
      }
    }
  }
  // The name is taken, or the token is not good for it: only a person can change that.
  if (end.kind === 'refused' && end.enrolling && end.status === 409) {
    return { delayMs: SLOW_REDIAL_MS, attempt: 0 };
  }
  const askedMs = end.kind === 'refused' ? end.retryAfterMs : null;
  // Many agents are told the same number of seconds, so each adds a part of a step of its own.
  const heldMs = askedMs === null ? 0 : Math.min(askedMs + BACKOFF_MIN_MS * random, RETRY_AFTER_MAX_MS);
  return { delayMs: Math.max(backoffMs(attempt, random), heldMs), attempt: attempt + 1 };
}

export interface CredentialFacts {
  hasSecret: boolean;
  hasToken: boolean;
  /** 401 answers to the stored secret since it last worked (count). */
  unauthorizedInRow: number;
  /** Since the last attempt to enroll; null = none yet. */
  sinceEnrollMs: number | null;
}

/**
 * What to show at the next dial. A stored secret is kept whatever the answers are, because a control plane that
 * was restored from a backup may know it again; after three refusals a configured token is tried beside it.
 */
export function decideCredential(facts: CredentialFacts): 'secret' | 'enroll' | 'none' {
  if (!facts.hasSecret) return facts.hasToken ? 'enroll' : 'none';
  const enrollDue = facts.sinceEnrollMs === null || facts.sinceEnrollMs >= SLOW_REDIAL_MS;
  return facts.unauthorizedInRow >= 3 && facts.hasToken && enrollDue ? 'enroll' : 'secret';
}

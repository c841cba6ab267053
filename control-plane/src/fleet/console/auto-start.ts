/**
 * Decides when the console of a host starts and ends its app.
 *
 * Pure: the functions receive facts, the record of earlier attempts and the time, and return one step. The caller
 * reports the result of the step by `refused`, `ended` or `reported`. Source: docs/hosts.md, "Automatic start".
 */

import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import type { SessionEndReason } from '@footlight/protocol';
import type { ConsoleCapabilities, ConsoleConfig } from '@footlight/protocol/agent';

const FIRST_WAIT_MS = 2 * SECOND_MS;
const LONGEST_WAIT_MS = MINUTE_MS;
/**
 * A session that ends sooner counts as a quick end. Too many quick ends stop the retries. 30 s: docs/hosts.md,
 * "Automatic start".
 */
const QUICK_MS = 30 * SECOND_MS;
/** With waits of 2, 4, 8, 16, 32 and 60 s, an app that cannot start is tried for two minutes. */
const QUICK_ENDS = 6;

export interface ConsoleFacts {
  /** null: no configuration was ever stored. */
  config: ConsoleConfig | null;
  capabilities: ConsoleCapabilities;
  /** The agent is connected and has reported its capabilities on this connection. */
  isReported: boolean;
  /** The host accepts sessions: online, with known GPUs and the feature `console`. */
  isPlaceable: boolean;
  /** The live session of this console; null: there is no live session. */
  sessionId: string | null;
  /** The session was already asked to stop. */
  isStopping: boolean;
}

/** Attempts since the last session that lived at least QUICK_MS. */
export interface ConsoleAttempts {
  /** Consecutive refused launches and ended sessions; each one doubles the wait before the next attempt. */
  inRow: number;
  /** Consecutive quick ends. */
  quickEnds: number;
  /** Monotonic time (ms) of the earliest next attempt. */
  notBeforeMs: number;
}

export const NO_ATTEMPTS: ConsoleAttempts = { inRow: 0, quickEnds: 0, notBeforeMs: Number.NEGATIVE_INFINITY };

export type ConsoleStep =
  | { kind: 'rest'; why: 'offline' | 'off' | 'no_display' | 'running' | 'not_placeable' | 'given_up' }
  | { kind: 'wait'; untilMs: number }
  | { kind: 'launch'; appId: string; userId: string; topology: 'local_only' | 'dual_output' }
  | { kind: 'stop'; sessionId: string; reason: SessionEndReason };

/** @param nowMs monotonic milliseconds */
export function decideConsole(facts: ConsoleFacts, attempts: ConsoleAttempts, nowMs: number): ConsoleStep {
  const { config, sessionId } = facts;
  // The last report of an offline host may be outdated, so it must not end a session.
  if (!facts.isReported) return { kind: 'rest', why: 'offline' };
  const on = config?.enabled ? config : null;
  const hasDisplay = on !== null && isDisplayConnected(on, facts.capabilities);
  if (sessionId !== null) {
    if (hasDisplay || facts.isStopping) return { kind: 'rest', why: 'running' };
    return {
      kind: 'stop',
      sessionId,
      reason: on === null ? 'console_disabled' : 'console_display_disconnected',
    };
  }
  if (!on?.auto_start_on_display || on.default_app === null || on.default_user === null) {
    return { kind: 'rest', why: 'off' };
  }
  if (!hasDisplay) return { kind: 'rest', why: 'no_display' };
  if (!facts.isPlaceable) return { kind: 'rest', why: 'not_placeable' };
  if (attempts.quickEnds >= QUICK_ENDS) return { kind: 'rest', why: 'given_up' };
  if (nowMs < attempts.notBeforeMs) return { kind: 'wait', untilMs: attempts.notBeforeMs };
  return {
    kind: 'launch',
    appId: on.default_app,
    userId: on.default_user,
    topology: on.stream ? 'dual_output' : 'local_only',
  };
}

/** The launch was refused. No session failed, so the number of retries has no limit. */
export function refused(attempts: ConsoleAttempts, nowMs: number): ConsoleAttempts {
  return later(attempts, attempts.quickEnds, nowMs);
}

/** The session ended for any reason. @param livedMs time from launch to end */
export function ended(attempts: ConsoleAttempts, livedMs: number, nowMs: number): ConsoleAttempts {
  return livedMs < QUICK_MS ? later(attempts, attempts.quickEnds + 1, nowMs) : later(NO_ATTEMPTS, 0, nowMs);
}

/** A capacity report arrived. The cause of the quick ends may be repaired, so attempts start again. */
export function reported(attempts: ConsoleAttempts): ConsoleAttempts {
  return attempts.quickEnds >= QUICK_ENDS ? NO_ATTEMPTS : attempts;
}

function later({ inRow }: ConsoleAttempts, quickEnds: number, nowMs: number): ConsoleAttempts {
  const waitMs = Math.min(FIRST_WAIT_MS * 2 ** inRow, LONGEST_WAIT_MS);
  return { inRow: inRow + 1, quickEnds, notBeforeMs: nowMs + waitMs };
}

function isDisplayConnected({ output_id, connector }: ConsoleConfig, has: ConsoleCapabilities): boolean {
  return has.outputs.some((output) => {
    if (!output.connected) return false;
    if (output_id !== null) return output.id === output_id;
    return connector === 'auto' || output.connector === connector;
  });
}

/** Decides which reports of a session have expired. Pure. Source: docs/sessions.md, "Telemetry". */
import { isTerminal, type SessionStateName } from '@footlight/protocol';

/** A session with stored reports. */
export interface ReportingSession {
  id: string;
  /** null: the session was deleted. */
  state: SessionStateName | null;
  /** Time of the end, epoch ms; null: the session has not ended. */
  ended_at: number | null;
}

/** Limits of the retention, epoch ms. */
export interface Retention {
  /** Reports of a live session before this time are deleted. */
  liveSince: number;
  /** Reports of a session that ended before this time are deleted, except captures. */
  endedSince: number;
}

/**
 * - all: also captures
 * - rolled: reports from before the rolling window
 * - reports: everything but captures
 * - none: no report, because the reports of the ended session are still kept
 */
export type Expired = 'all' | 'rolled' | 'reports' | 'none';

export function decideExpiry({ state, ended_at }: ReportingSession, { endedSince }: Retention): Expired {
  if (state === null) return 'all';
  if (!isTerminal(state)) return 'rolled';
  // Reports of an ended session without an end time expire too; otherwise they would be kept forever.
  return ended_at === null || ended_at < endedSince ? 'reports' : 'none';
}

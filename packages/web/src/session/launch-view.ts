/**
 * What the session page shows of a launch: from its first record to the app's own picture. Pure: facts in, the next
 * view out; the page draws it, and remembers the time that a view measured.
 */
import type { AppNotice } from '@footlight/protocol/input';
import type { Session } from '@footlight/protocol/rest';
import { isDrawn, type LaunchProgress, type LaunchStep } from '../launch/launch-steps.ts';

export interface LaunchView {
  /** unknown: no record yet. launch: seen from its start. return: a person comes back to a running app. */
  visit: 'unknown' | 'launch' | 'return';
  /** The app's own picture is shown; it stays during a swap, and goes with the stream. */
  shown: boolean;
  /** Usual time of this launch (ms); null: not known. Kept from before the picture, which changes it. */
  usualMs: number | null;
  /** The launch was seen before its app started, so its time is comparable with others. */
  fromStart: boolean;
  /** What this launch took; null: it has not ended, or was not seen from its start. */
  measured: MeasuredLaunch | null;
}

export interface MeasuredLaunch {
  appId: string;
  hostId: string | null;
  /** From the click to the app's own picture. */
  tookMs: number;
}

export const NO_LAUNCH: LaunchView = {
  visit: 'unknown',
  shown: false,
  usualMs: null,
  fromStart: false,
  measured: null,
};

/** What the page knows at one rendering. */
export interface LaunchFacts {
  /** undefined: the record is not loaded. */
  session: Pick<Session, 'state' | 'app_id' | 'host_id' | 'created_at'> | undefined;
  progress: LaunchProgress;
  stream: { shown: boolean; app: AppNotice['state'] | null };
  /** What this browser remembers of earlier launches; null: nothing. */
  usualMs: number | null;
  nowMs: number;
}

/** @returns the same object when nothing changes */
export function followLaunch(view: LaunchView, facts: LaunchFacts): LaunchView {
  const { session, progress, stream, usualMs, nowMs } = facts;
  const shown = stream.shown && (view.shown || isDrawn(progress, stream.app));
  const next: LaunchView = { ...view, shown };
  if (session !== undefined) {
    if (view.visit === 'unknown') next.visit = session.state === 'running' ? 'return' : 'launch';
    if (!shown) next.usualMs = usualMs;
    if (session.state === 'pending' || session.state === 'assigned') next.fromStart = true;
    if (shown && next.fromStart && view.measured === null) {
      const tookMs = nowMs - Date.parse(session.created_at);
      next.measured = { appId: session.app_id, hostId: session.host_id, tookMs };
    }
  }
  const keys = Object.keys(next) as (keyof LaunchView)[];
  return keys.every((key) => next[key] === view[key]) ? view : next;
}

/** The launch screen of a view. */
export interface Stage {
  steps: readonly LaunchStep[];
  /** Start of the shown time, epoch ms. */
  startedAtMs: number;
  usualMs: number | null;
  /** What the button does: end the session, or go back to the library while the app runs on. */
  cancel: 'end' | 'leave';
}

/**
 * A launch counts from the click, and shows all steps. A person who comes back waits for the picture alone, from the
 * opening of the page.
 * @param createdMs null: unknown as yet
 */
export function stageOf(
  view: LaunchView,
  steps: readonly LaunchStep[],
  { createdMs, openedMs }: { createdMs: number | null; openedMs: number },
): Stage {
  if (view.visit === 'return')
    return {
      steps: steps.filter((step) => step.state === 'current'),
      startedAtMs: openedMs,
      usualMs: null,
      cancel: 'leave',
    };
  return { steps, startedAtMs: createdMs ?? openedMs, usualMs: view.usualMs, cancel: 'end' };
}

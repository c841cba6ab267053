/**
 * The view of a launch on the session page, from its first record to the app's own picture. Pure: gets facts, returns
 * the next view. The page renders the view and stores the time that a view measured.
 */
import type { AppNotice } from '@footlight/protocol/input';
import type { Session } from '@footlight/protocol/rest';
import { isDrawn, type LaunchProgress, type LaunchStep } from '../launch/launch-steps.ts';

export interface LaunchView {
  /**
   * unknown: no record is loaded. launch: the page shows the launch from its start. return: the person returns to a
   * running app.
   */
  visit: 'unknown' | 'launch' | 'return';
  /** Whether the app's own picture is shown. It stays shown during a swap, and ends with the stream. */
  shown: boolean;
  /**
   * Usual time of this launch (ms); null: not known. Does not change after the picture is shown, because the usual time
   * then includes this launch.
   */
  usualMs: number | null;
  /** The page showed the launch before its app started, so its time can be compared with other launches. */
  fromStart: boolean;
  /**
   * The app has shown only one colour for so long that the page offers to show the picture, because the app may never
   * draw more.
   */
  offersPlain: boolean;
  /** The time of this launch; null: it has not ended, or the page did not show its start. */
  measured: MeasuredLaunch | null;
}

/**
 * Time after which the page offers a picture with only one colour. Such a picture never counts as drawn. Firefox needed
 * 10 s to draw at a first start; on slower machines the offer comes too early, but the picture still appears
 * automatically. Chosen, not measured.
 */
export const PLAIN_OFFERED_MS = 10_000;
export const PLAIN_SHOWN_MS = 30_000;

export interface MeasuredLaunch {
  appId: string;
  hostId: string | null;
  /** Time from the click to the app's own picture. */
  tookMs: number;
}

export const NO_LAUNCH: LaunchView = {
  visit: 'unknown',
  shown: false,
  usualMs: null,
  fromStart: false,
  offersPlain: false,
  measured: null,
};

/** Facts of the page at one rendering. */
export interface LaunchFacts {
  /** undefined: the record is not loaded. */
  session: Pick<Session, 'state' | 'app_id' | 'host_id' | 'created_at'> | undefined;
  progress: LaunchProgress;
  stream: { shown: boolean; app: AppNotice['state'] | null };
  /** Time of the first frame, epoch ms; null: no frame yet. */
  framesSinceMs: number | null;
  /** The person chose to see the picture although it has only one colour. */
  insists: boolean;
  /** Usual time of earlier launches in this browser; null: not known. */
  usualMs: number | null;
  nowMs: number;
}

/** @returns the same object when nothing changes */
export function followLaunch(view: LaunchView, facts: LaunchFacts): LaunchView {
  const { session, progress, stream, usualMs, nowMs } = facts;
  const plainMs = facts.framesSinceMs === null ? 0 : nowMs - facts.framesSinceMs;
  const drawn = isDrawn(progress, stream.app);
  const shown = stream.shown && (view.shown || drawn || facts.insists || plainMs >= PLAIN_SHOWN_MS);
  const next: LaunchView = {
    ...view,
    shown,
    offersPlain: stream.shown && !shown && plainMs >= PLAIN_OFFERED_MS,
  };
  if (session !== undefined) {
    if (view.visit === 'unknown') next.visit = session.state === 'running' ? 'return' : 'launch';
    if (!shown) next.usualMs = usualMs;
    if (session.state === 'pending' || session.state === 'assigned') next.fromStart = true;
    // A launch whose picture never came does not count for the usual time.
    if (shown && drawn && next.fromStart && view.measured === null) {
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
  /** Action of the button: end the session, or go back to the library while the app keeps running. */
  cancel: 'end' | 'leave';
}

/**
 * The launch screen of a view. A launch counts from the click and shows all steps. For a person who returns, the screen
 * shows only the wait for the picture, counted from the opening of the page.
 * @param createdMs null: not known yet
 */
export function stageOf(
  view: LaunchView,
  steps: readonly LaunchStep[],
  { createdMs, openedMs }: { createdMs: number | null; openedMs: number },
): Stage {
  // The visit is not known yet, so no step is named. The person can go back even if the server does not answer.
  if (view.visit === 'unknown') return { steps: [], startedAtMs: openedMs, usualMs: null, cancel: 'leave' };
  if (view.visit === 'return')
    return {
      steps: steps.filter((step) => step.state === 'current'),
      startedAtMs: openedMs,
      usualMs: null,
      cancel: 'leave',
    };
  return { steps, startedAtMs: createdMs ?? openedMs, usualMs: view.usualMs, cancel: 'end' };
}

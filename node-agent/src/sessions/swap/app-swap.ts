/**
 * One swap of apps on a running display.
 *
 *   old app runs → new app starts in parallel → new app has drawn → old app ends → complete
 *
 * If both apps use the same home, the old app ends first. After any failure the new app ends, and the old app continues
 * or is restarted (rolled back). If the restart fails too, the session is lost. If the session ends during the swap,
 * the swap is aborted, and the session's teardown ends the remaining app.
 */

import type { Clock } from '@footlight/platform';
import { errorText, pause } from '@footlight/platform';
import type { RunningApp } from '../../runtime/runtime.ts';
import { aborted } from '../life/aborted.ts';
import { endedEarly } from '../life/state.ts';

/** Time between SIGTERM and SIGKILL for the old app, the same as for a stop. */
const OLD_APP_GRACE_MS = 2_000;
/** Time between SIGTERM and SIGKILL for a new app that failed. */
const NEW_APP_GRACE_MS = 500;

export interface SwapSteps {
  clock: Clock;
  /** Aborts when the session ends. */
  ended: AbortSignal;
  /** The running app. */
  old: RunningApp;
  /** Whether both apps use the same home; then the old app must end before the new one starts. */
  sharedHome: boolean;
  /** Time limit for the new app to draw, in milliseconds; 0: no limit. */
  bootTimeoutMs: number;
  /** Locks the new app's home and prepares its directories. */
  prepare(): Promise<void>;
  /** Resolves when new windows are watched; `drawn` resolves when one of them has drawn. */
  watch(): Promise<{ drawn: Promise<void> }>;
  startNew(): Promise<RunningApp>;
  /** The requirement that the new app lacks, according to its output. */
  hint(next: RunningApp): string | undefined;
  /** Restarts the old app. */
  startOld(): Promise<RunningApp>;
}

export type SwapOutcome =
  | { kind: 'complete'; app: RunningApp }
  | { kind: 'rolled_back'; app: RunningApp; error: string }
  /** No app is running any more. */
  | { kind: 'lost'; error: string }
  /** The session ended during the swap. */
  | { kind: 'ended' };

/**
 * Swaps the apps. Never throws. After the call, only the app in the outcome is running; if the outcome is `ended`, at
 * most the old app is running.
 */
export async function swapApps(steps: SwapSteps): Promise<SwapOutcome> {
  const { ended, old } = steps;
  const isEnded = () => ended.aborted;
  let oldIsGone = false;
  void old.exited.then(() => {
    oldIsGone = true;
  });
  let next: RunningApp | null = null;
  try {
    await steps.prepare();
    if (isEnded()) return { kind: 'ended' };
    if (steps.sharedHome) await old.stop(OLD_APP_GRACE_MS);
    if (isEnded()) return { kind: 'ended' };
    const { drawn } = await steps.watch();
    if (isEnded()) return { kind: 'ended' };
    next = await steps.startNew();
    await hasDrawn(steps, next, drawn);
    if (!isEnded()) {
      await old.stop(OLD_APP_GRACE_MS);
      if (!isEnded()) return { kind: 'complete', app: next };
    }
  } catch (error) {
    const stuck = await problemOf(next?.stop(NEW_APP_GRACE_MS));
    if (isEnded()) return { kind: 'ended' };
    if (stuck !== null) return { kind: 'lost', error: `${errorText(error)}; and the new app: ${stuck}` };
    return goBack(errorText(error));
  }
  // Errors are ignored, because the session's cleanup kills processes that do not end.
  await problemOf(next.stop(NEW_APP_GRACE_MS));
  return { kind: 'ended' };

  async function goBack(error: string): Promise<SwapOutcome> {
    if (!oldIsGone) return { kind: 'rolled_back', app: old, error };
    try {
      // Ends processes that the old app left, before the old app is restarted.
      await old.stop(0);
      if (isEnded()) return { kind: 'ended' };
      return { kind: 'rolled_back', app: await steps.startOld(), error };
    } catch (again) {
      return { kind: 'lost', error: `${error}; and the former app: ${errorText(again)}` };
    }
  }
}

/** @returns the reason of the failure; null: success */
async function problemOf(work: Promise<void> | undefined): Promise<string | null> {
  try {
    await work;
    return null;
  } catch (error) {
    return errorText(error);
  }
}

/** Waits until the app has drawn. @throws when the app ends first, does not draw in time, or the session ends */
async function hasDrawn(
  { clock, bootTimeoutMs, ended, hint }: SwapSteps,
  app: RunningApp,
  drawn: Promise<void>,
): Promise<void> {
  const over = new AbortController();
  const until = AbortSignal.any([ended, over.signal]);
  try {
    await Promise.race([
      drawn,
      app.exited.then(({ status }): never => {
        throw new Error(endedEarly(status, hint(app)));
      }),
      (bootTimeoutMs === 0 ? aborted(until) : pause(clock, bootTimeoutMs, until)).then((): never => {
        const late = `the app drew no window within ${bootTimeoutMs / 1000} s`;
        throw new Error(ended.aborted ? 'the session ended' : late);
      }),
    ]);
  } finally {
    over.abort();
  }
}

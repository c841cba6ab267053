import type { Clock, Timer } from '@footlight/platform';
import { errorText } from '@footlight/platform';
import type { RunningApp } from '../../runtime/runtime.ts';
import { endedEarly } from './transitions.ts';

/**
 * One change of app on a running display.
 *
 *   the old app runs → the new one starts beside it → it has drawn → the old one ends → complete
 *
 * Where both live in one home the old one ends first. Whatever fails, the new app ends and the old one goes on, or is
 * started again: rolled back. When that is impossible the session is lost. An end of the session cuts everything
 * short; the old app, or the one of the outcome, is then left to the session's own teardown.
 */

/** The old app may take this long to end, as for a stop. */
const OLD_APP_GRACE_MS = 2_000;
/** An app that is not wanted after all. */
const NEW_APP_GRACE_MS = 500;

export interface SwapStage {
  clock: Clock;
  /** Fires when the session ends. */
  ended: AbortSignal;
  /** The app that runs. */
  old: RunningApp;
  /** Both apps live in one home: the old one has to be gone before the new one comes. */
  sharedHome: boolean;
  /** How long the new app may take to draw, in milliseconds; 0 = for ever. */
  bootTimeoutMs: number;
  /** Takes the home of the new app, makes what it needs. */
  prepare(): Promise<void>;
  /** Settles when windows that are mapped from now on are looked at; `drawn` settles when one of them has drawn. */
  watch(): Promise<{ drawn: Promise<void> }>;
  startNew(): Promise<RunningApp>;
  /** What the new app lacks by its last words. */
  hint(next: RunningApp): string | undefined;
  /** Starts the old app again. */
  startOld(): Promise<RunningApp>;
}

export type SwapOutcome =
  | { kind: 'complete'; app: RunningApp }
  | { kind: 'rolled_back'; app: RunningApp; error: string }
  /** Neither app runs. */
  | { kind: 'lost'; error: string }
  /** The session ended meanwhile. */
  | { kind: 'ended' };

/** Never throws, and leaves nothing running but the app of its outcome; after `ended` the old app at most. */
export async function swapApps(stage: SwapStage): Promise<SwapOutcome> {
  const { ended, old } = stage;
  const isEnded = () => ended.aborted;
  let oldIsGone = false;
  void old.exited.then(() => {
    oldIsGone = true;
  });
  let next: RunningApp | null = null;
  try {
    await stage.prepare();
    if (isEnded()) return { kind: 'ended' };
    if (stage.sharedHome) await old.stop(OLD_APP_GRACE_MS);
    if (isEnded()) return { kind: 'ended' };
    const { drawn } = await stage.watch();
    if (isEnded()) return { kind: 'ended' };
    next = await stage.startNew();
    await hasDrawn(stage, next, drawn);
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
  // What will not end is looked for with everything else of the session.
  await problemOf(next.stop(NEW_APP_GRACE_MS));
  return { kind: 'ended' };

  async function goBack(error: string): Promise<SwapOutcome> {
    if (!oldIsGone) return { kind: 'rolled_back', app: old, error };
    try {
      // What the old app left behind goes before it comes again.
      await old.stop(0);
      if (isEnded()) return { kind: 'ended' };
      return { kind: 'rolled_back', app: await stage.startOld(), error };
    } catch (again) {
      return { kind: 'lost', error: `${error}; and the former app: ${errorText(again)}` };
    }
  }
}

/** @returns why it could not be done; null = it was done */
async function problemOf(work: Promise<void> | undefined): Promise<string | null> {
  try {
    await work;
    return null;
  } catch (error) {
    return errorText(error);
  }
}

/** @throws when the app ends first, draws nothing in time, or the session ends */
async function hasDrawn(
  { clock, bootTimeoutMs, ended, hint }: SwapStage,
  app: RunningApp,
  drawn: Promise<void>,
): Promise<void> {
  let timer: Timer | null = null;
  let onEnd: () => void = () => undefined;
  try {
    await Promise.race([
      drawn,
      app.exited.then(({ status }): never => {
        throw new Error(endedEarly(status, hint(app)));
      }),
      new Promise<never>((_, reject) => {
        if (bootTimeoutMs === 0) return;
        const why = `the app drew no window within ${bootTimeoutMs / 1000} s`;
        timer = clock.setTimeout(() => reject(new Error(why)), bootTimeoutMs);
      }),
      new Promise<never>((_, reject) => {
        onEnd = () => reject(new Error('the session ended'));
        if (ended.aborted) onEnd();
        else ended.addEventListener('abort', onEnd);
      }),
    ]);
  } finally {
    (timer as Timer | null)?.cancel();
    ended.removeEventListener('abort', onEnd);
  }
}

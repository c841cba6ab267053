import { type Clock, errorText, pause } from '@footlight/platform';
import type { FailureCode } from '@footlight/protocol';
import type { AppSpec } from '@footlight/protocol/agent';
import { LaunchError, type Runtime } from '../../runtime/runtime.ts';

/**
 * Longest wait for an image, counted from the assignment. It is less than the control plane's 900 s, so that the
 * agent's reason is reported first.
 */
export const IMAGE_WAIT_MS = 840_000;
/** The control plane waits as long as it gets a report every 10 s. At most one report per second is sent. */
const REPEAT_MS = 5_000;
const MIN_REPORT_MS = 1_000;

export interface ImageWait {
  clock: Clock;
  runtime: Pick<Runtime, 'fetch'>;
  /** Aborts when the session ends. */
  ended: AbortSignal;
  /** Time of the assignment, on the monotonic clock. */
  assignedAtMs: number;
  /** Reports the percentage of the pull. */
  report(percent: number): void;
}

/**
 * Waits until the engine has an app's image. The pull continues after the limit, for the next launch.
 * @returns null: the engine has the image, or the session ends
 */
export async function waitForImage(
  app: AppSpec,
  { clock, runtime, ended, assignedAtMs, report }: ImageWait,
): Promise<{ code: FailureCode; error: string } | null> {
  let percent: number | null = null;
  let shown: { percent: number; atMs: number } | null = null;
  const show = (atMs: number) => {
    if (percent === null || ended.aborted) return;
    shown = { percent, atMs };
    report(percent);
  };
  const onPercent = (value: number) => {
    percent = value;
    const atMs = clock.monotonicMs();
    if (shown === null || (value !== shown.percent && atMs - shown.atMs >= MIN_REPORT_MS)) show(atMs);
  };
  const leave = new AbortController();
  const end = () => leave.abort();
  if (ended.aborted) end();
  else ended.addEventListener('abort', end, { once: true });
  const repeat = clock.setInterval(() => show(clock.monotonicMs()), REPEAT_MS);
  const restMs = Math.max(0, assignedAtMs + IMAGE_WAIT_MS - clock.monotonicMs());
  const late = pause(clock, restMs, leave.signal).then(() => 'late' as const);
  try {
    const outcome = await Promise.race([runtime.fetch(app, { ended: leave.signal, onPercent }), late]);
    if (outcome !== 'late' || ended.aborted) return null;
    return {
      code: 'image_pull_timeout',
      error: `${app.image} was not there within ${IMAGE_WAIT_MS / 1000} s`,
    };
  } catch (error) {
    if (ended.aborted) return null;
    return { code: error instanceof LaunchError ? error.code : 'image_missing', error: errorText(error) };
  } finally {
    repeat.cancel();
    ended.removeEventListener('abort', end);
    leave.abort();
  }
}

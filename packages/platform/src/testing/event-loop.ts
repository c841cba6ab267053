import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Resolution of the measurement in milliseconds. */
const EVERY_MS = 5;

/**
 * Runs the work and measures how long it blocked the event loop of this process.
 * @returns the result of the work, and the longest time in which no timer of the loop could run
 */
export async function withLoopWatched<T>(
  work: () => Promise<T>,
): Promise<{ result: T; longestStallMs: number }> {
  const histogram = monitorEventLoopDelay({ resolution: EVERY_MS });
  histogram.enable();
  try {
    const result = await work();
    // Waits two turns, because a stall at the very end is recorded only by the next timer.
    for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return { result, longestStallMs: histogram.max / 1e6 };
  } finally {
    histogram.disable();
  }
}

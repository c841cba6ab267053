import { SECOND_MS, type Timer } from '@footlight/platform';
import type { Platform } from '../platform.ts';
import type { Subscription } from './bus.ts';

const RETRY_MS = SECOND_MS;

export interface ReadsAfterGaps extends Subscription {
  /** Runs `read` in a second, and again until it succeeds. For a message whose handling failed. */
  readLater(): void;
}

/**
 * Runs `read` after each gap of the bus, and again each second until it succeeds or the result is closed. A gap during a
 * run starts another run, because the first one may have read too early.
 * @param read reads the state that messages of other replicas keep current
 * @param failed called with the error of each failed run
 */
export function readAfterGaps(
  { bus, clock }: Pick<Platform, 'bus' | 'clock'>,
  read: () => Promise<void>,
  failed: (error: unknown) => void,
): ReadsAfterGaps {
  let retry: Timer | null = null;
  let closed = false;

  async function run(): Promise<void> {
    try {
      await read();
    } catch (error) {
      failed(error);
      readLater();
    }
  }

  function readLater(): void {
    retry?.cancel();
    retry = closed ? null : clock.setTimeout(() => void run(), RETRY_MS);
  }

  const gaps = bus.onGap(() => void run());
  return {
    readLater,
    close() {
      closed = true;
      retry?.cancel();
      gaps.close();
    },
  };
}

import { backoffMs } from '@footlight/protocol/backoff';

/**
 * Wait before the next attempt of a failed call or stream, in ms. Its jitter is the only random number of the page.
 * @param failures number of earlier consecutive failures, from 0
 */
export const retryDelayMs = (failures: number): number => backoffMs(failures, Math.random());

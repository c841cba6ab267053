import { backoffMs } from '@footlight/protocol/backoff';

/**
 * Wait before the next attempt of a failed call or stream, in ms; the jitter is the page's only random number.
 * @param failures consecutive failures before this one (count), from 0
 */
export const retryDelayMs = (failures: number): number => backoffMs(failures, Math.random());

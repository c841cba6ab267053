/** Limits signaling handshakes by address. In memory, per process. */
import { type Clock, MINUTE_MS } from '@footlight/platform';
import { createKeyedCount } from '../platform/keyed-count.ts';
import { LimiterKeys } from '../platform/limits.ts';

export interface LimiterSettings {
  failuresPerMinute: number;
  handshakesPerAddress: number;
  handshakesInAll: number;
  /** Remembered addresses; the least recently used one that is not refused is evicted. */
  maxAddresses: number;
}

export const SIGNALING_LIMITS: LimiterSettings = {
  failuresPerMinute: 10,
  handshakesPerAddress: 10,
  handshakesInAll: 256,
  maxAddresses: 4_096,
};

export interface HandshakeLimiter {
  /** Whether one more handshake from this address may begin. */
  admits(address: string): boolean;
  /** Counts a handshake as in flight until released; releasing twice does nothing. */
  begin(address: string): { release(): void };
  /** Counts a bad token. Nothing else is a failure. */
  failed(address: string): void;
}

export function createHandshakeLimiter(
  clock: Pick<Clock, 'monotonicMs'>,
  settings: LimiterSettings = SIGNALING_LIMITS,
): HandshakeLimiter {
  /** Times of the latest failures, bounded by the limit. */
  const isFull = (instants: readonly number[], nowMs: number): boolean =>
    instants.filter((at) => at > nowMs - MINUTE_MS).length >= settings.failuresPerMinute;
  const failures = new LimiterKeys<number[]>(isFull, settings.maxAddresses);
  /** Bounded by the handshakes in all. */
  const inFlight = createKeyedCount();

  return {
    admits(address) {
      const nowMs = clock.monotonicMs();
      if (isFull(failures.get(address, nowMs) ?? [], nowMs)) return false;
      return (
        inFlight.total < settings.handshakesInAll && inFlight.of(address) < settings.handshakesPerAddress
      );
    },

    begin: (address) => ({ release: inFlight.begin(address) }),

    failed(address) {
      const nowMs = clock.monotonicMs();
      const latest = [...(failures.get(address, nowMs) ?? []), nowMs];
      failures.set(address, latest.slice(-settings.failuresPerMinute), nowMs);
    },
  };
}

/** Limits signaling handshakes by address. Each process counts in its own memory. */
import { type Clock, MINUTE_MS } from '@footlight/platform';
import { createKeyedCount } from '../platform/keyed-count.ts';
import { LimiterKeys } from '../platform/limits.ts';

export interface LimiterSettings {
  failuresPerMinute: number;
  handshakesPerAddress: number;
  handshakesInAll: number;
  /** Maximum remembered addresses; the least recently used address that is not refused is evicted. */
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
  /** Counts a bad token as a failure; other errors are not counted. */
  failed(address: string): void;
}

export function createHandshakeLimiter(
  clock: Pick<Clock, 'monotonicMs'>,
  settings: LimiterSettings = SIGNALING_LIMITS,
): HandshakeLimiter {
  /** Times of the latest failures per address; the limit bounds their number. */
  const isFull = (instants: readonly number[], nowMs: number): boolean =>
    instants.filter((at) => at > nowMs - MINUTE_MS).length >= settings.failuresPerMinute;
  const failures = new LimiterKeys<number[]>(isFull, settings.maxAddresses);
  /** The limit of all handshakes bounds the number of keys. */
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

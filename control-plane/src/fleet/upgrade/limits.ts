import { MINUTE_MS, WindowCounter } from '@footlight/platform';
import { LimiterKeys } from '../../platform/limits.ts';

export interface CredentialLimitOptions {
  /** Maximum failures per minute of one address with one node name. */
  perPair?: number;
  /** Maximum failures per minute of one address with any name. */
  perAddress?: number;
}

const isFull = (counter: WindowCounter, nowMs: number): boolean => counter.isFull(nowMs);

/**
 * Limits clients with wrong node credentials. Only failures count, so a whole fleet behind one address can reconnect at
 * the same time.
 */
export class CredentialLimits {
  readonly #pairs = new LimiterKeys<WindowCounter>(isFull);
  readonly #addresses = new LimiterKeys<WindowCounter>(isFull);
  readonly #perPair: number;
  readonly #perAddress: number;

  constructor(options: CredentialLimitOptions = {}) {
    this.#perPair = options.perPair ?? 10;
    this.#perAddress = options.perAddress ?? 100;
  }

  /** @returns milliseconds to wait; 0: the attempt may be checked */
  waitMs(addressKey: string, nodeName: string, nowMs: number): number {
    return Math.max(
      this.#pairs.get(pairKey(addressKey, nodeName), nowMs)?.roomInMs(nowMs) ?? 0,
      this.#addresses.get(addressKey, nowMs)?.roomInMs(nowMs) ?? 0,
    );
  }

  failed(addressKey: string, nodeName: string, nowMs: number): void {
    count(this.#pairs, pairKey(addressKey, nodeName), this.#perPair, nowMs);
    count(this.#addresses, addressKey, this.#perAddress, nowMs);
  }
}

/** A malformed name may be as long as a header, so it is cut; the prefix is enough to distinguish names. */
function pairKey(addressKey: string, nodeName: string): string {
  return `${addressKey} ${nodeName.slice(0, 64)}`;
}

function count(keys: LimiterKeys<WindowCounter>, key: string, limit: number, nowMs: number): void {
  const counter = keys.get(key, nowMs) ?? new WindowCounter(limit, MINUTE_MS);
  counter.add(nowMs);
  keys.set(key, counter, nowMs);
}

import { MINUTE_MS } from '../platform/clock.ts';
import { LimiterKeys } from '../platform/limits.ts';

/** Counts events in a sliding window; remembers at most `limit` instants. */
export class WindowCounter {
  readonly #limit: number;
  readonly #windowMs: number;
  #instants: number[] = [];

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /** Counts one event. @returns true when `limit` events lie within the window */
  add(nowMs: number): boolean {
    this.#instants.push(nowMs);
    if (this.#instants.length > this.#limit) this.#instants.shift();
    return this.isFull(nowMs);
  }

  /** Whether `limit` events lie within the window that ends now. */
  isFull(nowMs: number): boolean {
    return this.#instants.length >= this.#limit && nowMs - this.#instants[0]! < this.#windowMs;
  }

  /** Milliseconds until the window has room again; 0 when it has. */
  roomInMs(nowMs: number): number {
    return this.isFull(nowMs) ? this.#instants[0]! + this.#windowMs - nowMs : 0;
  }
}

/** Lets `burst` events through at once and `perSecond` in the long run. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #updatedMs: number;

  constructor(perSecond: number, burst: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
    this.#updatedMs = nowMs;
  }

  /** Takes one token. @returns false when there is none */
  take(nowMs: number): boolean {
    const refill = ((nowMs - this.#updatedMs) / 1_000) * this.#perSecond;
    this.#tokens = Math.min(this.#burst, this.#tokens + refill);
    this.#updatedMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

export interface CredentialLimitOptions {
  /** Failures per minute of one address with one node name. */
  perPair?: number;
  /** Failures per minute of one address with whatever names. */
  perAddress?: number;
}

const isFull = (counter: WindowCounter, nowMs: number): boolean => counter.isFull(nowMs);

/**
 * Limits clients that keep presenting wrong node credentials. Only failures count, so a fleet behind one address that
 * reconnects at once is let in.
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

  /** @returns milliseconds to wait; 0: the attempt may be looked at */
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

/** A name that breaks the rules may be as long as a header; cut, it still tells attempts apart. */
function pairKey(addressKey: string, nodeName: string): string {
  return `${addressKey} ${nodeName.slice(0, 64)}`;
}

function count(keys: LimiterKeys<WindowCounter>, key: string, limit: number, nowMs: number): void {
  const counter = keys.get(key, nowMs) ?? new WindowCounter(limit, MINUTE_MS);
  counter.add(nowMs);
  keys.set(key, counter, nowMs);
}

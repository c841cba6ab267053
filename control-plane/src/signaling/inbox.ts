/** Filters surplus messages of a viewer's page. */

import { type BrowserMessage, MAX_CANDIDATES, RENEGOTIATE_INTERVAL_MS } from '@footlight/protocol/signal';

/** Maximum peer connections whose candidates are counted. A page has at most two, while one replaces the other. */
const MAX_COUNTED_CONNECTIONS = 4;

/** Decides which valid messages are relayed. The protocol says that surplus messages are ignored. */
export class RelayFilter {
  readonly #candidates = new Map<string, number>();
  #renegotiatedAt = Number.NEGATIVE_INFINITY;

  /** @param nowMs monotonic ms */
  passes(message: Exclude<BrowserMessage, { type: 'hello' }>, nowMs: number): boolean {
    if (message.type === 'candidate') return this.#countCandidate(message.pc_id);
    if (message.type !== 'renegotiate') return true;
    if (nowMs - this.#renegotiatedAt < RENEGOTIATE_INTERVAL_MS) return false;
    this.#renegotiatedAt = nowMs;
    return true;
  }

  #countCandidate(pcId: string): boolean {
    const count = (this.#candidates.get(pcId) ?? 0) + 1;
    this.#candidates.delete(pcId);
    this.#candidates.set(pcId, count);
    for (const oldest of this.#candidates.keys()) {
      if (this.#candidates.size <= MAX_COUNTED_CONNECTIONS) break;
      this.#candidates.delete(oldest);
    }
    return count <= MAX_CANDIDATES;
  }
}

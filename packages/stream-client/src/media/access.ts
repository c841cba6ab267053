import type { Fact } from '../core/model.ts';
import { SignalingRefused, type StreamClientOptions } from '../types.ts';
import { signalingUrl } from './socket.ts';

/**
 * Requests access to the signaling socket. Only the answer to the newest request counts; older ones are late. Holds
 * nothing to free: a request cannot be withdrawn, and the driver ignores an answer after the end.
 */
export class AccessRequests {
  readonly #connectSignaling: StreamClientOptions['connectSignaling'];
  readonly #onAnswer: (fact: Fact) => void;
  /** Number of the newest request. */
  #newest = 0;

  constructor(connectSignaling: StreamClientOptions['connectSignaling'], onAnswer: (fact: Fact) => void) {
    this.#connectSignaling = connectSignaling;
    this.#onAnswer = onAnswer;
  }

  /** Never throws; a failure is an answer. */
  async request(): Promise<void> {
    this.#newest += 1;
    const own = this.#newest;
    const answer = await this.#answer();
    if (own === this.#newest) this.#onAnswer(answer);
  }

  async #answer(): Promise<Fact> {
    try {
      const access = await this.#connectSignaling();
      const url = signalingUrl(access, document.baseURI);
      return { type: 'access', url, ice_servers: access.ice_servers ?? null };
    } catch (error) {
      if (!(error instanceof SignalingRefused)) return { type: 'access_failed' };
      return { type: 'access_refused', reason: error.reason, code: error.code, message: error.message };
    }
  }
}

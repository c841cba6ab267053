import type { Fact } from '../core/model.ts';
import { SignalingRefused, type StreamClientOptions } from '../types.ts';
import { signalingUrl } from './socket.ts';

/**
 * Requests access to the signaling socket. A new request aborts the older one, and only the newest request's answer is
 * used. Owner: the client, whose close() aborts the last request.
 */
export class AccessRequests {
  readonly #connectSignaling: StreamClientOptions['connectSignaling'];
  readonly #onAnswer: (fact: Fact) => void;
  #newest = new AbortController();

  constructor(connectSignaling: StreamClientOptions['connectSignaling'], onAnswer: (fact: Fact) => void) {
    this.#connectSignaling = connectSignaling;
    this.#onAnswer = onAnswer;
  }

  /** Requests access. Never throws; a failure is reported as an answer. */
  async request(): Promise<void> {
    this.close();
    const own = new AbortController();
    this.#newest = own;
    const answer = await this.#answer(own.signal);
    if (own === this.#newest) this.#onAnswer(answer);
  }

  /** Aborts the current request, if there is one. */
  close(): void {
    this.#newest.abort();
  }

  async #answer(signal: AbortSignal): Promise<Fact> {
    try {
      const access = await this.#connectSignaling(signal);
      const url = signalingUrl(access, document.baseURI);
      return { type: 'access', url, ice_servers: access.ice_servers ?? null };
    } catch (error) {
      if (!(error instanceof SignalingRefused)) return { type: 'access_failed' };
      return { type: 'access_refused', reason: error.reason, code: error.code, message: error.message };
    }
  }
}

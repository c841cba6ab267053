import type { Clock, Timer } from '@footlight/platform';
import type { NominationHold } from './nomination-hold.ts';
import { fallbackCandidates, hostPort, iceCredentials } from './offered-candidates.ts';

/**
 * Head start of the direct path. Most connections exist by then, so they do not use the fallback port at all. Chosen,
 * not measured.
 */
const HEAD_START_MS = 500;

/** The host's fallback port, as a WebRTC connection uses it. */
export interface FallbackAccess {
  readonly port: number;
  /** Lets browsers reach a connection through the port. @param pwd secret @param port the connection's UDP port */
  open(pcId: string, connection: { ufrag: string; pwd: string; port: number }): void;
  /** Ends that; also called for a connection that was never opened. */
  close(pcId: string): void;
}

export interface FallbackOfferOptions {
  access: FallbackAccess;
  pcId: string;
  clock: Pick<Clock, 'setTimeout'>;
  /** Sends a candidate to the browser. */
  send(candidate: string, mid: string): void;
  /** Lets the WebRTC library wait before it nominates a path. @param port the connection's UDP port */
  hold(port: number): Pick<NominationHold, 'release' | 'close'>;
}

/**
 * Offers the fallback port for one WebRTC connection: registers the connection as soon as its UDP port is known, and
 * sends the additional candidates if there is no path after the head start.
 *
 * gathering → waiting (begin) → offered → closed. Owner: the peer; connected() and close() free the timer.
 */
export class FallbackOffer {
  readonly #options: FallbackOfferOptions;
  #credentials: ReturnType<typeof iceCredentials> = null;
  #isOpen = false;
  /** The connection's UDP port; null: not known yet. */
  #port: number | null = null;
  #isAnswered = false;
  /** Transports and addresses of the candidates. */
  readonly #offered = new Set<string>();
  /** Candidates that wait for the head start; null: they are sent at once. */
  #waiting: { candidate: string; mid: string }[] | null = [];
  #timer: Timer | null = null;
  #hold: ReturnType<FallbackOfferOptions['hold']> | null = null;
  #isOver = false;

  constructor(options: FallbackOfferOptions) {
    this.#options = options;
  }

  /** Called with the host's own description, before its candidates. */
  described(sdp: string): void {
    this.#credentials = iceCredentials(sdp);
  }

  /** Called with each candidate that the host offers. */
  gathered(line: string, mid: string): void {
    const { access, pcId, send } = this.#options;
    if (this.#isOver || this.#credentials === null) return;
    const port = hostPort(line);
    // All host candidates have the same port, because the WebRTC library uses one socket.
    if (!this.#isOpen && port !== null) {
      this.#isOpen = true;
      this.#port = port;
      access.open(pcId, { ...this.#credentials, port });
      this.#holdNomination();
    }
    for (const candidate of fallbackCandidates(line, access.port)) {
      // A router's public address may be an address of the host too.
      const [, , transport, , address] = candidate.split(' ');
      const key = `${transport} ${address}`;
      if (this.#offered.has(key)) continue;
      this.#offered.add(key);
      if (this.#waiting === null) send(candidate, mid);
      else this.#waiting.push({ candidate, mid });
    }
  }

  /** Called when the browser's answer was applied. */
  answered(): void {
    this.#isAnswered = true;
    this.#holdNomination();
  }

  /** Called when the host's own candidates are sent. */
  begin(): void {
    if (this.#isOver || this.#timer !== null) return;
    this.#timer = this.#options.clock.setTimeout(() => {
      const waiting = this.#waiting ?? [];
      this.#waiting = null;
      for (const { candidate, mid } of waiting) this.#options.send(candidate, mid);
    }, HEAD_START_MS);
  }

  /** Called when packets pass; candidates that are not sent yet are never sent. */
  connected(): void {
    this.#isOver = true;
    this.#hold?.release();
    this.#timer?.cancel();
  }

  close(): void {
    this.connected();
    this.#hold?.close();
    if (this.#isOpen) this.#options.access.close(this.#options.pcId);
    this.#isOpen = false;
  }

  #holdNomination(): void {
    if (this.#isOver || !this.#isAnswered || this.#port === null) return;
    this.#hold ??= this.#options.hold(this.#port);
  }
}

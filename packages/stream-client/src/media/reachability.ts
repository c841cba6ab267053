import type { Timer } from '@footlight/platform/timer';
import type { Environment } from '../types.ts';

/**
 * Time limit of a probe: an unanswered probe counts as lost. In this time Linux (since 6.5) and macOS repeat the first
 * packet of a connection each second, and Windows twice.
 */
const ANSWER_MS = 4_000;
/**
 * Pause between an answer and the next probe. The attempt to open the signaling socket after an answer has priority,
 * because a browser opens only one socket to a server at a time. Chosen, not measured.
 */
const PAUSE_MS = 5_000;
/**
 * After this number of unanswered probes in a row, a probe has more time, so that fewer sockets fail. Chromium delays
 * each new socket of a page: after twelve failed sockets by up to 0.6 s, and twice as long after each further one, up to
 * 5 s. A socket that succeeded within the last three minutes would halve the count. Source: Chromium,
 * services/network/throttling, WebSocketPerProcessThrottler::CalculateDelay.
 */
const MAX_SHORT = 12;
const LONG_ANSWER_MS = 12_000;

/**
 * While a stream is interrupted, probes the service until it answers, and reports each change between answering and not
 * answering.
 *
 * A probe opens a socket without a token, which the service refuses at once. Each socket opens a new connection at
 * once, but a browser queues fetch requests behind connections that hang.
 *
 * idle → (start) → asking ⇄ pausing → (stop) → idle. Owns one socket or one timer; stop() frees both.
 */
export class Reachability {
  readonly #environment: Pick<Environment, 'createWebSocket' | 'setTimeout'>;
  readonly #onChange: (reachable: boolean) => void;
  #url: string | null = null;
  /** number of unanswered probes in a row */
  #unanswered = 0;
  #reachable = true;
  #socket: WebSocket | null = null;
  #timer: Timer | null = null;

  constructor(
    environment: Pick<Environment, 'createWebSocket' | 'setTimeout'>,
    onChange: (reachable: boolean) => void,
  ) {
    this.#environment = environment;
    this.#onChange = onChange;
  }

  /** @param url URL of the signaling socket; the probe removes its token */
  start(url: string): void {
    if (this.#url !== null) return;
    this.#url = withoutToken(url);
    this.#unanswered = 0;
    this.#reachable = true;
    this.#ask();
  }

  /** Pauses the probes during an attempt to open the signaling socket, which has priority. */
  giveWay(): void {
    if (this.#url === null) return;
    this.#drop();
    this.#timer = this.#environment.setTimeout(() => this.#ask(), PAUSE_MS);
  }

  stop(): void {
    this.#url = null;
    this.#drop();
  }

  #ask(): void {
    if (this.#url === null) return;
    let socket: WebSocket;
    try {
      socket = this.#environment.createWebSocket(this.#url);
    } catch {
      return;
    }
    this.#socket = socket;
    const answered = (reachable: boolean) => {
      if (this.#socket !== socket) return;
      this.#drop();
      this.#unanswered = reachable ? 0 : this.#unanswered + 1;
      this.#timer = this.#environment.setTimeout(() => this.#ask(), reachable ? PAUSE_MS : 0);
      if (reachable === this.#reachable) return;
      this.#reachable = reachable;
      this.#onChange(reachable);
    };
    // A refusal is an answer too; the browser reports a refusal as a close.
    socket.onopen = () => answered(true);
    socket.onclose = () => answered(true);
    const limitMs = this.#unanswered < MAX_SHORT ? ANSWER_MS : LONG_ANSWER_MS;
    this.#timer = this.#environment.setTimeout(() => answered(false), limitMs);
  }

  #drop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }
}

function withoutToken(url: string): string {
  const address = new URL(url);
  address.search = '';
  return address.toString();
}

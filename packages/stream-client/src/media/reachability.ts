import type { Timer } from '@footlight/platform/timer';
import type { Environment } from '../types.ts';

/**
 * Time limit of a probe: an unanswered probe counts as lost. The system repeats the first packet of a connection after
 * 1 s (RFC 6298, 2.1) and then less and less often. So with a new probe every 2 s, one packet a second is sent.
 */
const ANSWER_MS = 2_000;
/**
 * Pause between an answer and the next probe. The attempt to open the signaling socket after an answer has priority,
 * because a browser opens only one socket to a server at a time. Chosen, not measured.
 */
const PAUSE_MS = 5_000;
/**
 * Up to this number of unanswered probes in a row, the next probe starts immediately; after more, the next probe waits.
 * After many failed sockets, Chromium delays each new socket of a page by up to 5 s: by 0.1 s after this many failures,
 * and twice as long after every two more. Source: Chromium, services/network/throttling,
 * WebSocketPerProcessThrottler::CalculateDelay.
 */
const MAX_AT_ONCE = 20;
const LATER_PAUSE_MS = 8_000;

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
      this.#timer = this.#environment.setTimeout(() => this.#ask(), this.#pauseMs());
      if (reachable === this.#reachable) return;
      this.#reachable = reachable;
      this.#onChange(reachable);
    };
    // A refusal is an answer too; the browser reports a refusal as a close.
    socket.onopen = () => answered(true);
    socket.onclose = () => answered(true);
    this.#timer = this.#environment.setTimeout(() => answered(false), ANSWER_MS);
  }

  #pauseMs(): number {
    if (this.#unanswered === 0) return PAUSE_MS;
    return this.#unanswered < MAX_AT_ONCE ? 0 : LATER_PAUSE_MS;
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

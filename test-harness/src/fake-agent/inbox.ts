import { systemClock, type Timer } from '@footlight/platform';
import { type ControlMessage, parseControlFrame } from '@footlight/protocol/agent';
import { ExpiredWait, PATIENCE_MS } from '../stack/program.ts';

/** Number of received messages kept for `waitFor`; older messages are dropped. */
const KEPT_MESSAGES = 1_000;
/** Longer than a control plane needs for any answer on a busy machine. Tests of longer waits pass their own limit. */
const WAIT_LIMIT_MS = PATIENCE_MS;

/** Close code and reason of a connection. */
export interface Closed {
  code: number;
  reason: string;
}

interface Waiter {
  match: (message: ControlMessage) => boolean;
  resolve: (message: ControlMessage) => void;
}

/** Messages that a fake agent received on its connection, for tests that wait for a message. */
export class Inbox {
  /** Newest received frames as text, including frames unknown to this protocol version. */
  readonly frames: string[] = [];
  #received: ControlMessage[] = [];
  readonly #waiters = new Set<Waiter>();

  /** Removes the messages of the previous connection. Call for each new connection. */
  clear(): void {
    this.#received = [];
  }

  /** Stores a frame. @returns the message; null: this protocol version has no such message */
  read(text: string): ControlMessage | null {
    this.frames.push(text);
    if (this.frames.length > KEPT_MESSAGES) this.frames.shift();
    const frame = parseControlFrame(text);
    if (frame.kind !== 'message') return null;
    this.#received.push(frame.message);
    if (this.#received.length > KEPT_MESSAGES) this.#received.shift();
    return frame.message;
  }

  /** Call after a message was handled. */
  tellWaiters(message: ControlMessage): void {
    for (const waiter of this.#waiters) if (waiter.match(message)) waiter.resolve(message);
  }

  /**
   * First message of a type on this connection, past or future.
   * @param closed settles when the connection ends
   * @throws when the connection ends or the time limit passes first
   */
  async waitFor<T extends ControlMessage['type']>(
    type: T,
    closed: Promise<Closed>,
    match: (message: Extract<ControlMessage, { type: T }>) => boolean = () => true,
    limitMs = WAIT_LIMIT_MS,
  ): Promise<Extract<ControlMessage, { type: T }>> {
    type Wanted = Extract<ControlMessage, { type: T }>;
    const wanted = (message: ControlMessage) => message.type === type && match(message as Wanted);
    const known = this.#received.find(wanted);
    if (known !== undefined) return known as Wanted;
    let waiter: Waiter | undefined;
    let limit: Timer | undefined;
    try {
      return await Promise.race([
        new Promise<Wanted>((resolve) => {
          waiter = { match: wanted, resolve: resolve as (message: ControlMessage) => void };
          this.#waiters.add(waiter);
        }),
        closed.then(({ code, reason }): never => {
          throw new Error(`closed with ${code} ${reason} while waiting for ${type}`);
        }),
        // The time limit uses the machine's clock, because the socket is real.
        new Promise<never>((_, reject) => {
          const late = () => reject(new ExpiredWait(`no ${type} within ${limitMs} ms`));
          limit = systemClock.setTimeout(late, limitMs);
        }),
      ]);
    } finally {
      limit?.cancel();
      if (waiter !== undefined) this.#waiters.delete(waiter);
    }
  }
}

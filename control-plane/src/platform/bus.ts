import type { Clock, Logger } from '@footlight/platform';

/** A subscription; a second close does nothing. */
export interface Subscription {
  close(): void;
}

/**
 * Messages between the process with a socket and the services that use it. Payloads are plain JSON values, so the
 * code also works across processes. Delivery is at most once and in order per publisher; a message without a
 * subscriber is dropped.
 */
export interface Bus {
  publish(subject: string, payload: unknown): void;
  subscribe(subject: string, deliver: (payload: unknown) => void): Subscription;
  /** Sends and waits for the one answer; null without a responder or an answer within `timeoutMs`. */
  request(subject: string, payload: unknown, timeoutMs: number): Promise<unknown>;
  /** Answers requests on a subject. One responder per subject; a later one replaces the earlier one. */
  respond(subject: string, answer: (payload: unknown) => Promise<unknown>): Subscription;
  close(): Promise<void>;
}

type Deliver = (payload: unknown) => void;
type Answer = (payload: unknown) => Promise<unknown>;

type Responders = Map<string, Responder>;

/** One object without closures, because each connected host has one. */
class Responder implements Subscription {
  readonly #responders: Responders;
  readonly #subject: string;
  readonly answer: Answer;

  constructor(responders: Responders, subject: string, answer: Answer) {
    this.#responders = responders;
    this.#subject = subject;
    this.answer = answer;
    responders.set(subject, this);
  }

  close(): void {
    if (this.#responders.get(this.#subject) === this) this.#responders.delete(this.#subject);
  }
}

/**
 * The bus of a single replica. `publish` returns before any subscriber runs, as over a network, so a publisher in a
 * transaction or state change is never re-entered.
 */
export function createInProcessBus({ clock, logger }: { clock: Clock; logger: Logger }): Bus {
  const subscribers = new Map<string, Set<Deliver>>();
  const responders: Responders = new Map();
  let closed = false;

  const failed = (subject: string, error: unknown) =>
    logger.error({ subject, err: error }, 'bus.listener_failed');

  return {
    publish(subject, payload) {
      if (closed || !subscribers.has(subject)) return;
      queueMicrotask(() => {
        for (const deliver of subscribers.get(subject) ?? []) {
          try {
            deliver(payload);
          } catch (error) {
            failed(subject, error);
          }
        }
      });
    },
    subscribe(subject, deliver) {
      // A new closure, so that subscribing one function twice gives two subscriptions.
      const own: Deliver = (payload) => deliver(payload);
      const set = subscribers.get(subject) ?? new Set();
      subscribers.set(subject, set.add(own));
      return {
        close() {
          set.delete(own);
          if (set.size === 0 && subscribers.get(subject) === set) subscribers.delete(subject);
        },
      };
    },
    request(subject, payload, timeoutMs) {
      const responder = responders.get(subject);
      if (closed || !responder) return Promise.resolve(null);
      return new Promise((resolve) => {
        const deadline = clock.setTimeout(() => resolve(null), timeoutMs);
        queueMicrotask(() => {
          responder
            .answer(payload)
            .catch((error: unknown) => {
              failed(subject, error);
              return null;
            })
            .then((value) => {
              deadline.cancel();
              resolve(value);
            });
        });
      });
    },
    respond(subject, answer) {
      return new Responder(responders, subject, answer);
    },
    async close() {
      closed = true;
      subscribers.clear();
      responders.clear();
    },
  };
}

import type { Clock, Logger } from '@footlight/platform';
import type { z } from 'zod';
import type { Bus, CallAnswer, RequestSubject, Subject, Subscription } from './bus.ts';

type Receive<Result> = (payload: unknown, key: string) => Result;
type Receivers<Result> = Map<Subject<unknown>, Map<string | null, readonly Receiver<Result>[]>>;

/** One object without closures, because each connected host has several receivers. */
class Receiver<Result> implements Subscription {
  readonly #all: Receivers<Result>;
  readonly #subject: Subject<unknown>;
  readonly #key: string | null;
  readonly receive: Receive<Result>;
  isOpen = true;

  constructor(
    all: Receivers<Result>,
    subject: Subject<unknown>,
    key: string | null,
    receive: Receive<Result>,
  ) {
    this.#all = all;
    this.#subject = subject;
    this.#key = key;
    this.receive = receive;
    const byKey = all.get(subject) ?? new Map();
    all.set(subject, byKey.set(key, [...(byKey.get(key) ?? []), this]));
  }

  close(): void {
    this.isOpen = false;
    const byKey = this.#all.get(this.#subject);
    const left = byKey?.get(this.#key)?.filter((other) => other !== this) ?? [];
    if (left.length > 0) byKey?.set(this.#key, left);
    else byKey?.delete(this.#key);
  }
}

/**
 * The payload as another process would receive it. The built program passes the value itself. Tests run from the
 * sources, and convert the value to JSON and parse it by its schema, so that they find payloads that only work within
 * one process.
 */
const received: <T>(schema: z.ZodType<T>, payload: T) => T =
  process.env.NODE_ENV === 'production'
    ? (_schema, payload) => payload
    : (schema, payload) => schema.parse(JSON.parse(JSON.stringify(payload)));

const NOTHING_TO_CLOSE: Subscription = { close: () => undefined };

/**
 * The bus of a single replica: calls the receivers directly. `publish` returns before any of them runs, as over a
 * network, so a subscriber never runs in the middle of the publisher's transaction or state change.
 */
export function createInProcessBus({ clock, logger }: { clock: Clock; logger: Logger }): Bus {
  const subscribers: Receivers<void> = new Map();
  const responders: Receivers<Promise<unknown>> = new Map();
  let closed = false;

  const failed = (subject: Subject<unknown>, error: unknown) =>
    logger.error({ subject: subject.name, err: error }, 'bus.listener_failed');

  return {
    publish(subject, key, payload) {
      const byKey = subscribers.get(subject as Subject<unknown>);
      if (closed || !(byKey?.has(key) || byKey?.has(null))) return;
      const message = received(subject.payload, payload);
      queueMicrotask(() => {
        for (const receivers of [byKey.get(key), byKey.get(null)]) {
          for (const receiver of receivers ?? []) {
            try {
              if (receiver.isOpen) receiver.receive(message, key);
            } catch (error) {
              failed(subject as Subject<unknown>, error);
            }
          }
        }
      });
    },
    subscribe(subject, key, deliver) {
      return new Receiver(subscribers, subject as Subject<unknown>, key, deliver as Receive<void>);
    },
    subscribeOthers: () => NOTHING_TO_CLOSE,
    request<Payload, Reply>(
      subject: RequestSubject<Payload, Reply>,
      key: string,
      payload: Payload,
      timeoutMs: number,
    ): Promise<CallAnswer<Reply>> {
      const responder = responders
        .get(subject as Subject<unknown>)
        ?.get(key)
        ?.at(-1);
      if (closed || responder === undefined) return Promise.resolve({ kind: 'no_responder' });
      const message = received(subject.payload, payload);
      return new Promise<CallAnswer<Reply>>((resolve) => {
        const deadline = clock.setTimeout(() => resolve({ kind: 'no_answer' }), timeoutMs);
        queueMicrotask(async () => {
          try {
            const reply = (await responder.receive(message, key)) as Reply;
            resolve({ kind: 'reply', reply: received(subject.reply, reply) });
          } catch (error) {
            failed(subject as Subject<unknown>, error);
            resolve({ kind: 'no_answer' });
          }
          deadline.cancel();
        });
      });
    },
    respond(subject, key, answer) {
      return new Receiver(responders, subject as Subject<unknown>, key, answer as Receive<Promise<unknown>>);
    },
    respondsHere: (subject, key) => responders.get(subject)?.has(key) === true,
    // Within one process no message can be lost.
    onGap: () => NOTHING_TO_CLOSE,
    isConnected: () => true,
    async close() {
      closed = true;
      subscribers.clear();
      responders.clear();
    },
  };
}

/**
 * The connection between replicas. State that may be on another replica (sockets of hosts and viewers, event streams,
 * cached settings) is reached only by messages. Each feature declares its subjects in one list, with the schema of each
 * payload.
 */
import type { z } from 'zod';

/** One kind of message. The key selects the receivers, for example by the id of a host. */
export interface Subject<Payload> {
  readonly name: string;
  readonly payload: z.ZodType<Payload>;
  /**
   * The field of the payload with a long text, which is sent as it is after the JSON of the other fields. As a JSON
   * string, a session description would be escaped and parsed once more on each hop.
   */
  readonly rawField?: string;
}

/** One kind of message that gets one answer. */
export interface RequestSubject<Payload, Reply> extends Subject<Payload> {
  readonly reply: z.ZodType<Reply>;
}

/**
 * no_responder: no replica answers requests with this key. no_answer: the request may have reached the responder, which
 * failed or is late. not_sent: this process has no responder, and the other replicas cannot be reached.
 */
export type CallAnswer<Reply> =
  | { kind: 'reply'; reply: Reply }
  | { kind: 'no_responder' | 'no_answer' | 'not_sent' };

/** A subscription; a second close does nothing. */
export interface Subscription {
  close(): void;
}

/**
 * Payloads are plain JSON values. Delivery is at most once and in order per publisher; a message without a subscriber
 * is dropped. Subscribers of the publishing process are called in the next microtask. A responder of the requesting
 * process is preferred.
 */
export interface Bus {
  publish<Payload>(subject: Subject<Payload>, key: string, payload: Payload): void;
  /** @param key null: messages with any key */
  subscribe<Payload>(
    subject: Subject<Payload>,
    key: string | null,
    deliver: (payload: Payload, key: string) => void,
  ): Subscription;
  /** Receives only messages of other replicas, with any key. With a single replica no message arrives. */
  subscribeOthers<Payload>(
    subject: Subject<Payload>,
    deliver: (payload: Payload, key: string) => void,
  ): Subscription;
  /** Never rejects. */
  request<Payload, Reply>(
    subject: RequestSubject<Payload, Reply>,
    key: string,
    payload: Payload,
    timeoutMs: number,
  ): Promise<CallAnswer<Reply>>;
  /** Answers requests with a key. One responder per key; a later responder replaces the earlier one. */
  respond<Payload, Reply>(
    subject: RequestSubject<Payload, Reply>,
    key: string,
    answer: (payload: Payload, key: string) => Promise<Reply>,
  ): Subscription;
  /** Whether a responder of this process would answer a request with this key. */
  respondsHere(subject: Subject<unknown>, key: string): boolean;
  /**
   * Calls the listener when messages of other replicas may have been lost. The listener must then read again the state
   * that these messages keep current.
   */
  onGap(listener: () => void): Subscription;
  /** Whether messages can reach the other replicas. Always true with a single replica. */
  isConnected(): boolean;
  close(): Promise<void>;
}

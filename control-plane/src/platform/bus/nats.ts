import { readFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import {
  type Clock,
  type Logger,
  MINUTE_MS,
  SECOND_MS,
  type Timer,
  WindowCounter,
  within,
} from '@footlight/platform';
import {
  type ConnectionOptions,
  connect,
  type Msg,
  type NatsConnection,
  nkeyAuthenticator,
  RequestError,
} from '@nats-io/transport-node';
import { z } from 'zod';
import type { Bus, CallAnswer, RequestSubject, Subject, Subscription } from './bus.ts';
import { createInProcessBus } from './in-process.ts';

export interface NatsOptions {
  /** `host:port` of each server of the cluster. */
  servers: readonly string[];
  /** nkeyFile: path of the file with the seed of a user key. */
  auth: { token: string } | { user: string; pass: string } | { nkeyFile: string } | null;
  /**
   * null: no TLS. ca: path of the certificate that signed the servers' certificates; null: the certificates that Node
   * trusts.
   */
  tls: { ca: string | null } | null;
}

/** First token of all subjects. Give the user of Footlight rights for `footlight.>` and `_INBOX.>`. */
const PREFIX = 'footlight';
const CONNECT_LIMIT_MS = 5 * SECOND_MS;
/**
 * Wait between two attempts to connect, plus a random time of up to the same length, so that the replicas do not all
 * reconnect to a restarted server at the same time.
 */
const RECONNECT_MS = 250;
/**
 * A connection is closed when the server does not answer a ping for two intervals, so a broken connection is detected
 * within 15 s.
 */
const PING_EVERY_MS = 5 * SECOND_MS;
const MAX_PINGS_OUT = 2;
/**
 * A replica has reconnected. The others may have missed its messages too, although they were connected. The key has no
 * meaning.
 */
export const RETURNED: Subject<Record<string, never>> = { name: 'replica.returned', payload: z.object({}) };
/** When the server restarts, all replicas return within half a second. Their messages then lead to one read. */
const RETURNS_MS = SECOND_MS;
/**
 * Time limit for the requests under way when the bus is closed. The second command of a launch follows the answer to the
 * first one after milliseconds.
 */
const FINISH_MS = 2 * SECOND_MS;
/** Maximum log lines about bad messages. Otherwise a client that may publish on the bus could fill the disk. */
const MAX_LINES_PER_MINUTE = 10;

/**
 * The bus of several replicas, over NATS (core, without JetStream). A replica's messages to itself are not sent to the
 * server, so the sockets of a replica without a NATS connection keep working. Meanwhile its messages to others are
 * dropped, and its requests to others get no answer. After the reconnect `onGap` is called in all replicas. If two NATS
 * servers of a cluster lose the connection between them, all replicas stay connected, so `onGap` is not called although
 * messages are lost.
 * @param socketClock the machine's clock, for the wait for answers when the bus is closed
 * @throws with a sentence, without the credentials, when no server can be reached or each server refuses
 */
export async function createNatsBus(
  options: NatsOptions,
  { clock, logger, socketClock }: { clock: Clock; logger: Logger; socketClock: Clock },
): Promise<Bus> {
  const connection = await open(options);
  /** Delivers the messages of this replica to itself. */
  const own = createInProcessBus({ clock, logger });
  const lines = new WindowCounter(MAX_LINES_PER_MINUTE, MINUTE_MS);
  const gapListeners = new Set<() => void>();
  /** Requests to other replicas that have no answer yet. */
  const underWay = new Set<Promise<unknown>>();
  let isConnected = true;
  let closed = false;
  /** Set while a reconnection of another replica was reported, but not yet to the listeners. */
  let otherReturned: Timer | null = null;
  void follow();

  /** Handles status changes until the connection is closed. */
  async function follow(): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect') {
        isConnected = false;
        logger.warn({ server: status.server }, 'bus.lost');
      } else if (status.type === 'reconnect') {
        isConnected = true;
        logger.info({ server: status.server }, 'bus.connected');
        tellGap();
        bus.publish(RETURNED, 'all', {});
      } else if (status.type === 'error') {
        line(null, status.error, 'bus.refused');
      }
    }
  }

  /** Resolves when no request is under way, and no answer has led to another request. */
  async function finished(): Promise<void> {
    while (underWay.size > 0) {
      await Promise.allSettled(underWay);
      await setImmediate();
    }
  }

  const tellGap = () => {
    for (const listener of gapListeners) listener();
  };

  /** Logs a bad message. The message itself is not logged, because it may contain a secret. */
  function line(
    subject: Subject<unknown> | null,
    error: unknown,
    event: 'bus.malformed' | 'bus.not_received' | 'bus.not_sent' | 'bus.refused',
  ): void {
    if (!lines.take(clock.monotonicMs())) return;
    logger.warn({ ...(subject !== null && { subject: subject.name }), reason: reasonOf(error) }, event);
  }

  /** undefined: the message is empty or does not match the schema. */
  function read<T>(subject: Subject<unknown>, schema: z.ZodType<T>, message: Msg): T | undefined {
    if (message.data.length === 0) return undefined;
    try {
      return schema.parse(decode(subject, message.data));
    } catch (error) {
      line(subject, error, 'bus.malformed');
      return undefined;
    }
  }

  /**
   * Receives the messages of other replicas. @param inProcess the subscription within this process, which is closed
   * together with this one; null: there is none
   */
  function listen(
    inProcess: Subscription | null,
    subject: Subject<unknown>,
    key: string | null,
    receive: (message: Msg) => void,
  ): Subscription {
    // Return early, because a closed connection would throw: a check that is still running when the service stops may
    // subscribe.
    if (closed) return inProcess ?? { close() {} };
    const others = connection.subscribe(wireName(subject, key), {
      callback: (error, message) => {
        if (error !== null) line(subject, error, 'bus.not_received');
        else if (!closed) receive(message);
      },
    });
    let isOpen = true;
    return {
      close() {
        inProcess?.close();
        if (isOpen && !closed) others.unsubscribe();
        isOpen = false;
      },
    };
  }

  const failed = (subject: Subject<unknown>, error: unknown) =>
    logger.error({ subject: subject.name, err: error }, 'bus.listener_failed');

  /** Parses a message and delivers it; an exception of the listener is logged. */
  const receiving =
    <Payload>(subject: Subject<Payload>, deliver: (payload: Payload, key: string) => void) =>
    (message: Msg): void => {
      const payload = read(subject, subject.payload, message);
      if (payload === undefined) return;
      try {
        deliver(payload, keyOf(message.subject));
      } catch (error) {
        failed(subject, error);
      }
    };

  const bus: Bus = {
    publish(subject, key, payload) {
      own.publish(subject, key, payload);
      if (closed || !isConnected) return;
      try {
        connection.publish(wireName(subject, key), encode(subject, payload));
      } catch (error) {
        line(subject, error, 'bus.not_sent');
      }
    },
    subscribe(subject, key, deliver) {
      return listen(own.subscribe(subject, key, deliver), subject, key, receiving(subject, deliver));
    },
    subscribeOthers(subject, deliver) {
      return listen(null, subject, null, receiving(subject, deliver));
    },
    async request<Payload, Reply>(
      subject: RequestSubject<Payload, Reply>,
      key: string,
      payload: Payload,
      timeoutMs: number,
    ): Promise<CallAnswer<Reply>> {
      const answer = await own.request(subject, key, payload, timeoutMs);
      if (answer.kind !== 'no_responder' || closed) return answer;
      if (!isConnected) return { kind: 'not_sent' };
      let asked: Promise<Msg> | null = null;
      try {
        asked = connection.request(wireName(subject, key), encode(subject, payload), { timeout: timeoutMs });
        underWay.add(asked);
        const message = await asked;
        const reply = read(subject, subject.reply, message);
        return reply === undefined ? { kind: 'no_answer' } : { kind: 'reply', reply };
      } catch (error) {
        return { kind: isNoResponder(error) ? 'no_responder' : 'no_answer' };
      } finally {
        if (asked !== null) underWay.delete(asked);
      }
    },
    respond(subject, key, answer) {
      return listen(own.respond(subject, key, answer), subject, key, async (message) => {
        const payload = read(subject, subject.payload, message);
        try {
          message.respond(payload === undefined ? '' : encodeReply(await answer(payload, key)));
        } catch (error) {
          failed(subject, error);
          // Answer with an empty message, so that the requester does not wait for its time limit.
          message.respond('');
        }
      });
    },
    respondsHere: own.respondsHere,
    onGap(listener) {
      gapListeners.add(listener);
      return { close: () => void gapListeners.delete(listener) };
    },
    isConnected: () => isConnected,
    async close() {
      if (isConnected) await within(socketClock, FINISH_MS, finished(), undefined);
      closed = true;
      otherReturned?.cancel();
      await own.close();
      // Messages that were published immediately before the close are still sent.
      if (isConnected) await connection.drain().catch(() => undefined);
      else await connection.close();
    },
  };
  listen(null, RETURNED, null, () => {
    otherReturned ??= clock.setTimeout(() => {
      otherReturned = null;
      tellGap();
    }, RETURNS_MS);
  });
  return bus;
}

/** @throws when the file of the key cannot be read or contains no key */
async function credentials(auth: NatsOptions['auth']): Promise<ConnectionOptions> {
  if (auth === null || !('nkeyFile' in auth)) return auth ?? {};
  const seed = (await readFile(auth.nkeyFile, 'utf8')).trim();
  if (!/^SU[A-Z2-7]{56}$/.test(seed)) throw new Error(`${auth.nkeyFile} holds no seed of a user key (SU…)`);
  return { authenticator: nkeyAuthenticator(Buffer.from(seed)) };
}

async function open({ servers, auth, tls }: NatsOptions): Promise<NatsConnection> {
  const options = async (): Promise<ConnectionOptions> => ({
    servers: [...servers],
    name: 'footlight',
    noEcho: true,
    timeout: CONNECT_LIMIT_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_MS,
    reconnectJitter: RECONNECT_MS,
    reconnectJitterTLS: RECONNECT_MS,
    ignoreAuthErrorAbort: true,
    pingInterval: PING_EVERY_MS,
    maxPingOut: MAX_PINGS_OUT,
    // Otherwise the library creates an error with a stack trace for each request, in case it fails.
    noAsyncTraces: true,
    ...(await credentials(auth)),
    tls: tls && (tls.ca === null ? {} : { caFile: tls.ca }),
  });
  try {
    return await connect(await options());
  } catch (error) {
    throw new Error(`The bus at ${servers.join(', ')} cannot be used: ${reasonOf(error)}.`);
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const isNoResponder = (error: unknown): boolean => error instanceof RequestError && error.isNoResponders();

// The library's TextEncoder and TextDecoder take one and a half times to twice as long for a signaling message.
const encodeReply = (reply: unknown): Buffer => Buffer.from(JSON.stringify(reply));

/** The payload as JSON. A subject's raw field follows after a line feed, which JSON.stringify never writes. */
function encode({ rawField }: Subject<unknown>, payload: unknown): Buffer {
  if (rawField === undefined) return Buffer.from(JSON.stringify(payload));
  const fields = payload as Record<string, unknown>;
  return Buffer.from(`${JSON.stringify({ ...fields, [rawField]: undefined })}\n${fields[rawField]}`);
}

/** Also reads a message without a raw field, as replicas of an older release and responders send it. */
function decode({ rawField }: Subject<unknown>, { buffer, byteOffset, length }: Uint8Array): unknown {
  const text = Buffer.from(buffer, byteOffset, length).toString();
  const end = rawField === undefined ? -1 : text.indexOf('\n');
  if (rawField === undefined || end < 0) return JSON.parse(text);
  const fields = JSON.parse(text.slice(0, end));
  fields[rawField] = text.slice(end + 1);
  return fields;
}

/** @param key null: any key */
const wireName = (subject: Subject<unknown>, key: string | null): string =>
  `${PREFIX}.${subject.name}.${key === null ? '*' : encodeKey(key)}`;

/** Keys that are valid tokens as they are, such as ids. Encoding one of them takes 1 µs for each message. */
const PLAIN_KEY = /^[\w-]+$/;

/** Encodes a key as one token of a NATS subject, because dots, wildcards and spaces are special there. */
const encodeKey = (key: string): string =>
  PLAIN_KEY.test(key) ? key : encodeURIComponent(key).replace(/[.*]/g, (c) => (c === '.' ? '%2E' : '%2A'));

function keyOf(name: string): string {
  const key = name.slice(name.lastIndexOf('.') + 1);
  return PLAIN_KEY.test(key) ? key : decodeURIComponent(key);
}

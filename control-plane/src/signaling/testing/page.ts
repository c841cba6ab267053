import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { parseServiceFrame, type ServiceMessage } from '@footlight/protocol/signal';
import { WebSocket } from 'ws';

const WAIT_LIMIT_MS = 60_000;

/** A signaling socket as seen by the page. */
export interface SignalPage {
  readonly socket: WebSocket;
  readonly clientId: string;
  /** All received messages, in order. */
  readonly messages: ServiceMessage[];
  /** Received frames that are not messages of the protocol; always empty if the service is correct. */
  readonly odd: string[];
  readonly closed: Promise<{ code: number; reason: string }>;
  send(message: unknown): void;
  hello(more?: Record<string, unknown>): void;
  /** The first message of a type, either already received or received later. */
  next<T extends ServiceMessage['type']>(
    type: T,
    match?: (message: Extract<ServiceMessage, { type: T }>) => boolean,
  ): Promise<Extract<ServiceMessage, { type: T }>>;
}

/** A refused upgrade. */
interface Refused {
  status: number;
  body: { error: { code: string; message: string } };
}

/** Opens the socket. @param url HTTP base of the service @throws Refused */
export function openPage(
  url: string,
  token: string | null,
  options: { headers?: Record<string, string>; clientId?: string; autoPong?: boolean } = {},
): Promise<SignalPage> {
  const address = `${url.replace(/^http/, 'ws')}/v1/signal${token === null ? '' : `?token=${token}`}`;
  const socket = new WebSocket(address, {
    headers: options.headers ?? {},
    perMessageDeflate: false,
    // Accept the self-made certificates of tests.
    rejectUnauthorized: false,
    autoPong: options.autoPong ?? true,
  });
  const clientId = options.clientId ?? randomUUID();
  const messages: ServiceMessage[] = [];
  const odd: string[] = [];
  const arrived = new Set<() => void>();
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once('close', (code, reason) => resolve({ code, reason: reason.toString('utf8') }));
  });
  socket.on('message', (data) => {
    const text = (data as Buffer).toString('utf8');
    const frame = parseServiceFrame(text);
    if (frame.kind === 'message') messages.push(frame.message);
    else odd.push(text);
    for (const notice of arrived) notice();
  });
  const page: SignalPage = {
    socket,
    clientId,
    messages,
    odd,
    closed,
    send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    hello: (more = {}) =>
      page.send({
        type: 'hello',
        protocol: 1,
        client_id: clientId,
        client: { kind: 'browser' },
        codecs: ['h264'],
        ...more,
      }),
    next(type, match = () => true) {
      type Wanted = Extract<ServiceMessage, { type: typeof type }>;
      return new Promise<Wanted>((resolve, reject) => {
        const settle = (done: () => void) => {
          arrived.delete(look);
          clearTimeout(limit);
          done();
        };
        const look = () => {
          const found = messages.find((message) => message.type === type && match(message as Wanted));
          if (found !== undefined) settle(() => resolve(found as Wanted));
        };
        const limit = setTimeout(() => settle(() => reject(new Error(`no ${type}`))), WAIT_LIMIT_MS);
        arrived.add(look);
        void closed.then(({ code, reason }) => {
          look();
          settle(() => reject(new Error(`closed with ${code} ${reason} while waiting for ${type}`)));
        });
        look();
      });
    },
  };
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(page));
    socket.on('error', reject);
    socket.once('unexpected-response', (_request, response) => void refusal(response).then(reject));
  });
}

async function refusal(response: IncomingMessage): Promise<Refused> {
  let text = '';
  for await (const chunk of response) text += (chunk as Buffer).toString('utf8');
  return { status: response.statusCode ?? 0, body: JSON.parse(text) as Refused['body'] };
}

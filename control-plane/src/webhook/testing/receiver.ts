import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  createServer as createPlain,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer as createTls } from 'node:https';
import type { AddressInfo } from 'node:net';

const SECRET = Buffer.alloc(32, 'webhook-secret');
/** Value of SERVICE_WEBHOOK_SECRET. */
export const WEBHOOK_SECRET = `whsec_${SECRET.toString('base64')}`;

export interface Received {
  id: string;
  timestamp: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever was sent.
  body: any;
  text: string;
}

/** A receiver of a webhook. It refuses requests whose signature is wrong. */
export interface Receiver {
  readonly url: string;
  /** All requests with a correct signature, in order. */
  readonly received: Received[];
  /** Number of requests with a wrong signature. */
  readonly forged: number;
  /** Answers the next requests; null: 204. */
  answer: ((response: ServerResponse, received: Received) => void) | null;
  close(): Promise<void>;
}

/** @param pair serves https with this pair */
export async function startReceiver(pair?: { cert: string; key: string }): Promise<Receiver> {
  const received: Received[] = [];
  let forged = 0;
  const listener: RequestListener = (request, response) => {
    response.on('error', () => undefined);
    void readAll(request).then((text) => {
      const found = verify(request, text);
      if (found === null) {
        forged += 1;
        response.writeHead(401).end();
        return;
      }
      received.push(found);
      if (receiver.answer === null) response.writeHead(204).end();
      else receiver.answer(response, found);
    });
  };
  const server = pair === undefined ? createPlain(listener) : createTls(pair, listener);
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    // A token in the address, like many receivers have.
    url: `${pair === undefined ? 'http' : 'https'}://127.0.0.1:${port}/hooks?token=address-token`,
    received,
    get forged() {
      return forged;
    },
    answer: null,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

async function readAll(request: IncomingMessage): Promise<string> {
  return (await request.toArray()).join('');
}

/** As the example in docs/audit.md. */
function verify({ headers, method, url }: IncomingMessage, text: string): Received | null {
  const id = String(headers['webhook-id']);
  const timestamp = String(headers['webhook-timestamp']);
  const expected = createHmac('sha256', SECRET).update(`${id}.${timestamp}.${text}`).digest();
  const given = Buffer.from(String(headers['webhook-signature']).replace(/^v1,/, ''), 'base64');
  const isRight = given.length === expected.length && timingSafeEqual(given, expected);
  const isForm = method === 'POST' && url === '/hooks?token=address-token';
  return isRight && isForm && headers['content-type'] === 'application/json'
    ? { id, timestamp: Number(timestamp), body: JSON.parse(text), text }
    : null;
}

/**
 * Closes connections that make one turn of the event loop long. One read of a socket is parsed in one turn: 64 KiB
 * hold 2,000 requests without bodies, or 10,000 chunks of one byte, and both delay all other requests.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Pipelined requests of one connection. Browsers and agents wait for each answer. */
const MAX_PIPELINED = 16;
/**
 * Characters of the lines and headers of the requests of a connection that wait; one request may have as many. Without
 * the bound 400 connections with 15 such requests each took 260 MB (Node 20.20).
 */
const MAX_WAITING_HEADERS = 16 * 1024;
/** A body with fewer chunks passes, whatever their size. */
const UNCHECKED_CHUNKS = 1_000;
/** Least mean chunk size of a longer body. Clients and proxies send buffers, not bytes. */
const MIN_MEAN_CHUNK_BYTES = 64;
/** Discarded bytes of an unread body; beyond, closing is cheaper than keeping the connection. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** Characters that it keeps while it waits; 0: it did not wait. */
  waiting: number;
}

/** The first one is being answered, the others wait. */
const EXCHANGES = Symbol('unanswered requests');
type GuardedSocket = Socket & { [EXCHANGES]?: Exchange[] };

/**
 * Wraps the handler of all requests. The pipelined requests of a connection are handled one after the other: the answers
 * go out in order anyway, and an answer that waits behind another one would hold an open file and a buffer.
 */
export function guardConnections(handler: Handler): Handler {
  function begin({ request, response }: Exchange): void {
    response.on('close', answered);
    if (request.headers['transfer-encoding'] !== undefined) response.on('prefinish', drainRequest);
    handler(request, response);
  }

  function answered(this: ServerResponse): void {
    const socket = this.req.socket as GuardedSocket;
    const exchanges = socket[EXCHANGES];
    exchanges?.shift();
    const next = exchanges?.[0];
    // After an answer with `Connection: close` the others are not answered.
    if (next !== undefined && socket.writable) begin(next);
  }

  return (request, response) => {
    const socket = request.socket as GuardedSocket;
    // The parser continues with data that was read before the connection was closed.
    if (socket.destroyed) return;
    let exchanges = socket[EXCHANGES];
    if (exchanges === undefined) {
      exchanges = [];
      socket[EXCHANGES] = exchanges;
    }
    const exchange = { request, response, waiting: exchanges.length === 0 ? 0 : headerLength(request) };
    const waiting = exchanges.reduce((total, other) => total + other.waiting, exchange.waiting);
    if (exchanges.length >= MAX_PIPELINED || waiting > MAX_WAITING_HEADERS) {
      socket.destroy();
      return;
    }
    exchanges.push(exchange);
    if (exchanges.length === 1) begin(exchange);
  };
}

function headerLength({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((total, text) => total + text.length, url.length);
}

/** Counts the chunks of one body. */
export class ChunkCount {
  #chunks = 0;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** @returns false: the chunks of the body are too small */
  add(chunk: Buffer): boolean {
    this.#chunks += 1;
    this.#bytes += chunk.length;
    return this.#chunks <= UNCHECKED_CHUNKS || this.#bytes >= this.#chunks * MIN_MEAN_CHUNK_BYTES;
  }
}

/** Node would discard the rest of the body without a bound. */
function drainRequest(this: ServerResponse): void {
  const { req: request } = this;
  if (request.complete) return;
  const count = new ChunkCount();
  request.on('data', (chunk: Buffer) => {
    if (!count.add(chunk) || count.bytes > MAX_UNREAD_BYTES) request.socket.destroy();
  });
}

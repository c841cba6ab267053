/**
 * Closes connections that make one turn of the event loop too long. All data of one socket read is parsed in one turn.
 * 64 KiB can contain 2,000 requests without bodies, or 10,000 chunks of one byte, which would delay all other requests.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Maximum pipelined requests of one connection. Browsers and agents wait for each answer. */
const MAX_PIPELINED = 16;
/**
 * Maximum characters in the request lines and headers of all waiting requests of one connection. A single request may
 * have the same number of characters. Without this limit 400 connections with 15 large requests each took 260 MB (Node
 * 20.20).
 */
const MAX_WAITING_HEADERS = 16 * 1024;
/** A body with fewer chunks is accepted; their size does not matter. */
const UNCHECKED_CHUNKS = 1_000;
/**
 * Minimum mean chunk size of a body with more chunks. Normal clients and proxies send whole buffers, not single bytes.
 */
const MIN_MEAN_CHUNK_BYTES = 64;
/**
 * Maximum bytes of an unread body that are discarded. For a longer body, closing the connection is cheaper than keeping
 * it.
 */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** Characters of request line and headers while the request waits; 0: the request is not waiting. */
  waiting: number;
}

/** Unanswered requests of a socket. The first is being answered, the others wait. */
const EXCHANGES = Symbol('unanswered requests');
type GuardedSocket = Socket & { [EXCHANGES]?: Exchange[] };

/**
 * Wraps the handler of all requests. The pipelined requests of a connection are handled one after the other: the
 * answers go out in order anyway, and an answer that waits for an earlier one would keep a file open and a buffer in
 * memory.
 */
export function guardConnections(handler: Handler): Handler {
  function begin(socket: GuardedSocket, { request, response }: Exchange): void {
    response.on('close', () => answered(socket));
    response.on('prefinish', drainRequest);
    handler(request, response);
  }

  // The socket is passed on, because `pipeline` sets the socket of an interrupted request to null.
  function answered(socket: GuardedSocket): void {
    const exchanges = socket[EXCHANGES];
    exchanges?.shift();
    const next = exchanges?.[0];
    // After an answer with `Connection: close` the waiting requests are not answered.
    if (next !== undefined && socket.writable) begin(socket, next);
  }

  return (request, response) => {
    const socket = request.socket as GuardedSocket;
    // Ignore the request: the parser still processes data that was read before the connection was closed.
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
    if (exchanges.length === 1) begin(socket, exchange);
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

/**
 * Limits the discarded bytes of an unread body; Node alone would discard without a limit. The body is discarded at all,
 * because a connection that is closed with unread data is reset, and then the client may lose the answer.
 */
function drainRequest(this: ServerResponse): void {
  const { req: request } = this;
  if (request.complete) return;
  const count = new ChunkCount();
  request.on('data', (chunk: Buffer) => {
    if (!count.add(chunk) || count.bytes > MAX_UNREAD_BYTES) request.socket.destroy();
  });
}

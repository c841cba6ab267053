/**
 * Closes connections that make one turn of the event loop long. One read of a socket is parsed in one turn: 64 KiB
 * hold 2,000 requests without bodies, or 10,000 chunks of one byte, and both delay all other requests.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Pipelined requests of one connection. Browsers and agents wait for each answer. */
const MAX_PIPELINED = 16;
/** A body with fewer chunks passes, whatever their size. */
const CHUNKS_UNJUDGED = 1_000;
/** Least mean chunk size of a longer body. Clients and proxies send buffers, not bytes. */
const MIN_MEAN_CHUNK_BYTES = 64;
/** Discarded bytes of an unread body; beyond, closing is cheaper than keeping the connection. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const UNANSWERED = Symbol('unanswered requests');
type CountedSocket = Socket & { [UNANSWERED]?: number };

/** Wraps the handler of all requests. */
export function guardConnections(handler: Handler): Handler {
  return (request, response) => {
    const socket = request.socket as CountedSocket;
    // The parser continues with data that was read before the connection was closed.
    if (socket.destroyed) return;
    const unanswered = (socket[UNANSWERED] ?? 0) + 1;
    if (unanswered > MAX_PIPELINED) {
      socket.destroy();
      return;
    }
    socket[UNANSWERED] = unanswered;
    response.on('close', answered);
    if (request.headers['transfer-encoding'] !== undefined) response.on('prefinish', readTheRest);
    handler(request, response);
  };
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
    return this.#chunks <= CHUNKS_UNJUDGED || this.#bytes >= this.#chunks * MIN_MEAN_CHUNK_BYTES;
  }
}

function answered(this: ServerResponse): void {
  const socket = this.req.socket as CountedSocket;
  socket[UNANSWERED] = (socket[UNANSWERED] ?? 1) - 1;
}

/** Node would discard the rest of the body without a bound. */
function readTheRest(this: ServerResponse): void {
  const { req: request } = this;
  if (request.complete) return;
  const count = new ChunkCount();
  request.on('data', (chunk: Buffer) => {
    if (!count.add(chunk) || count.bytes > MAX_UNREAD_BYTES) request.socket.destroy();
  });
}

/**
 * Closes connections that make one turn of the event loop long. What one read of a socket brings is parsed in one
 * turn: 64 KiB hold 2,000 requests without bodies, or 10,000 chunks of one byte, and both keep everybody else waiting.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of one connection that wait for their answers. Browsers and agents send one after the other. */
const MAX_PIPELINED = 16;
/** A body of fewer chunks is short, whatever their size. */
const CHUNKS_UNJUDGED = 1_000;
/** Mean size of the chunks of a longer body. Clients and proxies send buffers, not bytes. */
const MIN_MEAN_CHUNK_BYTES = 64;
/** Of a body that nothing reads; more is not worth the wait for the next request on its connection. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const UNANSWERED = Symbol('unanswered requests');
type CountedSocket = Socket & { [UNANSWERED]?: number };

/** Puts the guard in front of the handler of all requests. */
export function guardConnections(handler: Handler): Handler {
  return (request, response) => {
    const socket = request.socket as CountedSocket;
    // The parser goes on through what it has read, though the connection is closed.
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

  /** @returns false: the body comes in chunks that cost more than they bring */
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

/** Node would throw away what is left of the body without a bound. */
function readTheRest(this: ServerResponse): void {
  const { req: request } = this;
  if (request.complete) return;
  const count = new ChunkCount();
  request.on('data', (chunk: Buffer) => {
    if (!count.add(chunk) || count.bytes > MAX_UNREAD_BYTES) request.socket.destroy();
  });
}

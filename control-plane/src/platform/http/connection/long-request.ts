import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** Connections whose current request has no time limit. */
const extended = new WeakSet<Duplex>();

/**
 * Exempts a request from the time limit for a whole request (requestMs). Used for a body that is forwarded as fast as
 * its receiver reads. The caller must limit the time; the limit for a silent connection stays. The next request of the
 * connection is checked again.
 */
export function extendRequest(request: IncomingMessage): void {
  const { socket } = request;
  extended.add(socket);
  request.once('close', () => extended.delete(socket));
}

/**
 * Whether the current request of this connection may take longer. Node has no interface to exempt one request: it
 * reports the request once as a client error, which must then be ignored.
 */
export const isExtended = (socket: Duplex): boolean => extended.has(socket);

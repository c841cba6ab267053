import type { IncomingMessage } from 'node:http';

/**
 * Exempts a request from the time limit for a whole request (requestMs). Used for a body that is forwarded as fast as
 * its receiver reads. The caller must limit the time; the limit for a silent connection stays. The next request of the
 * connection is checked again.
 *
 * Node has no interface to exempt one request. The parser's `remove` removes its connection from the server's list of
 * checked connections, and a new message adds it again (Node 20, src/node_http_parser.cc). If `remove` is missing, the
 * normal limit applies to the body.
 */
export function extendRequest({ socket }: IncomingMessage): void {
  const { parser } = socket as typeof socket & { parser?: { remove?: () => void } | null };
  parser?.remove?.();
}

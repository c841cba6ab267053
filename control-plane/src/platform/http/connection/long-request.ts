import type { IncomingMessage } from 'node:http';

/**
 * Takes a request out of the check for the time of a whole request (requestMs), for a body that is passed
 * on as fast as its receiver reads. The caller limits its time; the limit of a silent connection stays. The next request
 * of the connection is checked again.
 *
 * Node has no interface for one request. `remove` of the parser takes its connection out of the server's list of those
 * that are checked, and a new message puts it back (Node 20, src/node_http_parser.cc). Without it the body has the time
 * of every other one.
 */
export function extendRequest({ socket }: IncomingMessage): void {
  const { parser } = socket as typeof socket & { parser?: { remove?: () => void } | null };
  parser?.remove?.();
}

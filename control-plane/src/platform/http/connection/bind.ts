import type { AddressInfo, Server as NetServer } from 'node:net';
import type { Logger } from '@footlight/platform';

/** A server and its address. */
interface Binding {
  server: NetServer;
  listen: { host: string | null; port: number };
  /** Name of the environment variable with the address, for the error message. */
  variable: string;
  scheme: 'http' | 'https';
}

/** @returns the address as a URL @throws with the variable's name when the address cannot be bound */
export function bind({ server, listen, variable, scheme }: Binding): Promise<string> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      const address = `${listen.host ?? ''}:${listen.port}`;
      const why =
        error.code === 'EADDRINUSE'
          ? 'another program has it'
          : error.code === 'EACCES'
            ? 'it takes more rights'
            : (error.code ?? error.message);
      reject(new Error(`cannot listen on ${address}: ${why} (${variable})`));
    };
    server.once('error', onError);
    server.listen({ port: listen.port, ...(listen.host !== null && { host: listen.host }) }, () => {
      server.off('error', onError);
      resolve(urlOf(server, listen.host, scheme));
    });
  });
}

function urlOf(server: NetServer, host: string | null, scheme: string): string {
  const { port } = server.address() as AddressInfo;
  const name =
    host === null || host === '0.0.0.0' || host === '::'
      ? 'localhost'
      : host.includes(':')
        ? `[${host}]`
        : host;
  return `${scheme}://${name}:${port}`;
}

/**
 * Logs a failed `accept`, for example because no file descriptor is free, so that the process and its open connections
 * continue.
 */
export function surviveFailedAccepts(server: NetServer, logger: Logger): void {
  server.on('error', (error: NodeJS.ErrnoException) => {
    if (error.syscall === 'accept') logger.warn({ code: error.code }, 'http.accept_failed');
  });
}

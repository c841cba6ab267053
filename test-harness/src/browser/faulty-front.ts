import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { systemClock } from '@footlight/platform';

/**
 * A proxy between the control plane and a browser, with faults on request. It passes plain HTTP, pages and sockets;
 * faults only affect the API below /v1.
 */
export class FaultyFront {
  /**
   * pass: no fault. slow: answers arrive after SLOW_MS. errors: every call is answered with status 500. silent: no call
   * is answered. gone: all connections are refused, including those for pages.
   */
  mode: 'pass' | 'slow' | 'errors' | 'silent' | 'gone' = 'pass';
  readonly #server: Server;
  readonly #target: URL;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, target: URL) {
    this.#server = server;
    this.#target = target;
  }

  /** Delay in the mode `slow`, like that of a control plane that waits for its database. */
  static readonly SLOW_MS = 5_000;

  static async of(target: string): Promise<FaultyFront> {
    const server = createServer();
    const front = new FaultyFront(server, new URL(target));
    server.on('request', (asked, answer) => front.#answer(asked, answer));
    server.on('upgrade', (asked, socket, head) => front.#upgrade(asked, socket, head));
    server.on('connection', (socket) => {
      front.#sockets.add(socket);
      socket.once('close', () => front.#sockets.delete(socket));
      if (front.mode === 'gone') socket.destroy();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return front;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Breaks every open connection, as a restart does. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #answer(asked: IncomingMessage, answer: ServerResponse): void {
    const isCall = asked.url?.startsWith('/v1/') ?? false;
    if (isCall && this.mode === 'silent') return;
    if (isCall && this.mode === 'errors') {
      answer.writeHead(500, { 'content-type': 'application/json' });
      answer.end(JSON.stringify({ error: { code: 'internal', message: 'Something went wrong.' } }));
      return;
    }
    const { hostname, port } = this.#target;
    const onward = request(
      { hostname, port, method: asked.method, path: asked.url, headers: asked.headers },
      (came) => {
        const pass = () => {
          if (answer.destroyed) return;
          answer.writeHead(came.statusCode ?? 502, came.headers);
          came.pipe(answer);
        };
        if (isCall && this.mode === 'slow') systemClock.setTimeout(pass, FaultyFront.SLOW_MS);
        else pass();
      },
    );
    onward.on('error', () => answer.destroy());
    answer.on('close', () => onward.destroy());
    asked.pipe(onward);
  }

  #upgrade(asked: IncomingMessage, near: Duplex, head: Buffer): void {
    near.on('error', () => undefined);
    if (this.mode === 'silent') return;
    if (this.mode === 'errors') {
      near.end('HTTP/1.1 500 Internal Server Error\r\nconnection: close\r\n\r\n');
      return;
    }
    const far = connect(Number(this.#target.port), this.#target.hostname, () => {
      const lines = [`${asked.method} ${asked.url} HTTP/1.1`];
      for (let at = 0; at < asked.rawHeaders.length; at += 2)
        lines.push(`${asked.rawHeaders[at]}: ${asked.rawHeaders[at + 1]}`);
      far.write(`${lines.join('\r\n')}\r\n\r\n`);
      far.write(head);
      far.pipe(near);
      near.pipe(far);
    });
    far.on('error', () => near.destroy());
    near.on('close', () => far.destroy());
  }
}

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Stands between a client and a server, and misbehaves on request. */
export class TcpRelay {
  /**
   * stall: what comes is taken and goes nowhere, as on a half-open link. refuse: new connections are closed at once.
   * Both are about all connections; those that stalled go on where they were once it is 'pass' again, without what was
   * said meanwhile.
   */
  mode: 'pass' | 'stall' | 'refuse' = 'pass';
  /** Milliseconds that everything from the server takes longer. */
  delayMs = 0;
  /** Connections taken so far. */
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Those that carry nothing any more, whatever the mode. */
  readonly #dead = new Set<Socket>();
  #cutAfterBytes: number | null = null;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async to(target: URL): Promise<TcpRelay> {
    const relay = new TcpRelay(createServer());
    relay.#server.on('connection', (near) => relay.#join(near, target));
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Breaks every connection there is. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Lets so many more bytes of clients through, then breaks every connection, wherever in a message that is. */
  cutAfter(bytes: number): void {
    this.#cutAfterBytes = bytes;
  }

  /** Every connection there is goes half-open for good; new ones work. */
  loseConnections(): void {
    for (const socket of this.#sockets) this.#dead.add(socket);
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #join(near: Socket, target: URL): void {
    this.connections += 1;
    if (this.mode === 'refuse') {
      near.destroy();
      return;
    }
    const far = connect(Number(target.port), target.hostname);
    near.on('data', (chunk) => this.#upwards(near, far, chunk));
    let dueMs = 0;
    far.on('data', (chunk) => {
      const nowMs = performance.now();
      // Never before what came earlier, though the delay may be another one by now.
      dueMs = Math.max(dueMs, nowMs + this.delayMs);
      if (dueMs <= nowMs) this.#pass(far, near, chunk);
      else setTimeout(() => this.#pass(far, near, chunk), dueMs - nowMs);
    });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        // A link that is dead says nothing of the end of its other end either.
        if (!this.#dead.delete(socket)) other.destroy();
      });
    }
  }

  #upwards(near: Socket, far: Socket, chunk: Buffer): void {
    if (this.#cutAfterBytes === null) {
      this.#pass(near, far, chunk);
      return;
    }
    this.#pass(near, far, chunk.subarray(0, this.#cutAfterBytes));
    this.#cutAfterBytes -= chunk.length;
    if (this.#cutAfterBytes > 0) return;
    this.#cutAfterBytes = null;
    // The half message is on its way before the end of it is.
    far.end(() => this.cut());
  }

  #pass(from: Socket, to: Socket, chunk: Buffer): void {
    if (this.mode !== 'stall' && !this.#dead.has(from) && !to.destroyed) to.write(chunk);
  }
}

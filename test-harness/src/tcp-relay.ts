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
  /** Where new connections lead. */
  target: URL;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Those that carry nothing any more, whatever the mode. */
  readonly #dead = new Set<Socket>();
  #cutAfterBytes: number | null = null;
  #cutAt: { words: string; when: 'unheard' | 'heard' | 'answered'; happened: () => void } | null = null;

  private constructor(server: Server, target: URL) {
    this.#server = server;
    this.target = target;
  }

  static async to(target: URL): Promise<TcpRelay> {
    const relay = new TcpRelay(createServer(), target);
    relay.#server.on('connection', (near) => relay.#join(near));
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

  /**
   * Breaks every connection when a client next says this.
   * @param when unheard: before the server hears it; heard: right after; answered: once the server has answered it, and
   * the answer is lost
   * @returns when that has happened
   */
  cutAt(words: string, when: 'unheard' | 'heard' | 'answered'): Promise<void> {
    return new Promise((happened) => {
      this.#cutAt = { words, when, happened };
    });
  }

  /** Every connection there is goes half-open for good; new ones work. */
  loseConnections(): void {
    for (const socket of this.#sockets) this.#dead.add(socket);
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #join(near: Socket): void {
    this.connections += 1;
    if (this.mode === 'refuse') {
      near.destroy();
      return;
    }
    const far = connect(Number(this.target.port), this.target.hostname);
    let toCut: (() => void) | null = null;
    near.on('data', (chunk) => {
      const cut = this.#cutAt;
      if (cut !== null && chunk.includes(cut.words)) {
        this.#cutAt = null;
        const breakOff = () => {
          this.cut();
          cut.happened();
        };
        if (cut.when === 'heard') far.end(chunk, breakOff);
        if (cut.when === 'unheard') breakOff();
        if (cut.when !== 'answered') return;
        toCut = breakOff;
      }
      this.#upwards(near, far, chunk);
    });
    let dueMs = 0;
    far.on('data', (chunk) => {
      toCut?.();
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

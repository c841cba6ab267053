import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { systemClock } from '@footlight/platform';

/**
 * TCP relay between clients and one or more servers, with faults on request. Several servers are used in rotation, as
 * behind a load balancer.
 */
export class TcpRelay {
  /**
   * stall: reads and discards all data, as a half-open link does. refuse: closes new connections at once. These two
   * modes apply to all connections. When the mode changes to 'pass', stalled connections continue without the discarded
   * data.
   */
  mode: 'pass' | 'stall' | 'refuse' = 'pass';
  /** Additional delay of data from the server, in milliseconds. */
  delayMs = 0;
  /** Number of accepted connections. */
  connections = 0;
  /** Servers of new connections, in rotation. */
  targets: readonly URL[];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Connections that pass no more data, in any mode. */
  readonly #dead = new Set<Socket>();
  #cutAfterBytes: number | null = null;
  #cutAt: { words: string; when: 'unheard' | 'heard' | 'answered'; happened: () => void } | null = null;

  private constructor(server: Server, targets: readonly URL[]) {
    this.#server = server;
    this.targets = targets;
  }

  static async to(...targets: URL[]): Promise<TcpRelay> {
    const relay = new TcpRelay(createServer(), targets);
    relay.#server.on('connection', (near) => relay.#join(near));
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Breaks every open connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Breaks every connection after this many more bytes from clients, even in the middle of a message. */
  cutAfter(bytes: number): void {
    this.#cutAfterBytes = bytes;
  }

  /**
   * Breaks every connection when a client next sends this text.
   * @param when unheard: before the server receives the text; heard: right after the server has received the text;
   *   answered: after the server's answer, which is lost
   * @returns a promise that resolves after the break
   */
  cutAt(words: string, when: 'unheard' | 'heard' | 'answered'): Promise<void> {
    return new Promise((happened) => {
      this.#cutAt = { words, when, happened };
    });
  }

  /** Makes every open connection permanently half-open; new connections work. */
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
    const target = this.targets[this.connections % this.targets.length] as URL;
    const far = connect(Number(target.port), target.hostname);
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
      const nowMs = systemClock.monotonicMs();
      // Data must not overtake earlier data, even after a change of the delay.
      dueMs = Math.max(dueMs, nowMs + this.delayMs);
      if (dueMs <= nowMs) this.#pass(far, near, chunk);
      else systemClock.setTimeout(() => this.#pass(far, near, chunk), dueMs - nowMs);
    });
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        // A half-open connection does not pass on the close of one end.
        if (this.#dead.delete(socket)) return;
        // The last data, such as the refusal of an upload, must arrive before the close. A client that still sends the
        // upload would lose them if the relay closed the socket with unread data, because the kernel then resets the
        // connection. So the relay reads and discards the rest until the client closes.
        if (socket === far) near.end().resume();
        else far.destroySoon();
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
    // The connections break only after the first part of the message has been sent.
    far.end(() => this.cut());
  }

  #pass(from: Socket, to: Socket, chunk: Buffer): void {
    if (this.mode === 'stall' || this.#dead.has(from) || to.destroyed) return;
    if (to.write(chunk) || from.isPaused()) return;
    // A receiver that does not read must block its sender, as without the relay.
    from.pause();
    to.once('drain', () => from.resume());
  }
}

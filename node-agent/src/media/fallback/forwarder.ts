import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, isIPv6, type Server, type Socket as TcpSocket } from 'node:net';
import type { Clock, Timer } from '@footlight/platform';
import { ForwardedPath } from './forwarded-path.ts';
import { FrameReader, framed } from './frames.ts';
import { LIMITS, mayOpen } from './path-limits.ts';
import { type Registration, Registrations } from './registrations.ts';

const SWEEP_MS = 5_000;
/** Queue of the system for new TCP connections. */
const BACKLOG = 128;
/** Attempts to find a port that is free by both TCP and UDP. */
const FREE_PORT_ATTEMPTS = 20;
const ANY_ADDRESS = '::';
const ANY_ADDRESS_4 = '0.0.0.0';

export interface ListenOptions {
  /** 0: a free port, for tests. */
  port: number;
  /** null: all addresses. */
  addresses: readonly string[] | null;
}

interface Path {
  forwarded: ForwardedPath;
  registration: Registration;
  /** The browser's address, or that of its TURN server. */
  address: string;
  close(): void;
}

/**
 * Listens on the fallback port by TCP and UDP, and forwards between browsers and the WebRTC connections of this host.
 *
 * The first packet of a sender must be a binding request that is signed with the password of a registered connection.
 * Until then nothing is opened for it, and it never gets an answer. A TCP sender whose first packet is anything else is
 * disconnected. Teardown: close() closes all sockets.
 */
export class Forwarder {
  readonly #clock: Clock;
  readonly #registrations = new Registrations();
  readonly #servers = new Set<Server | UdpSocket>();
  readonly #paths = new Set<Path>();
  /** Paths of UDP senders, by local socket, address and port. */
  readonly #udpPaths = new Map<string, Path>();
  /** TCP connections without a valid request, oldest first, with the time of their start. */
  readonly #unproven = new Map<TcpSocket, number>();
  readonly #sweep: Timer;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sweep = clock.setInterval(() => this.#closeIdle(), SWEEP_MS);
  }

  /**
   * @returns the port
   * @throws when an address or the port cannot be used; then nothing listens
   */
  async listen({ port, addresses }: ListenOptions): Promise<number> {
    if (port !== 0) return this.#listenAt(port, addresses);
    // The system chooses a port that is free by TCP, and another program may use its number by UDP.
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#listenAt(0, addresses);
      } catch (error) {
        if (attempt === FREE_PORT_ATTEMPTS || !isTaken(error)) throw error;
      }
    }
  }

  async #listenAt(port: number, addresses: readonly string[] | null): Promise<number> {
    let used = port;
    try {
      for (const address of addresses ?? [ANY_ADDRESS]) used = await this.#listenOn(address, used);
      return used;
    } catch (error) {
      this.#closeServers();
      if (addresses === null && noIpv6(error)) return this.#listenAt(port, [ANY_ADDRESS_4]);
      throw error;
    }
  }

  /** @returns false: refused, see Registrations.add */
  register(registration: Registration): boolean {
    return this.#registrations.add(registration);
  }

  unregister(ufrag: string): void {
    this.#registrations.remove(ufrag);
    for (const path of [...this.#paths]) if (path.registration.ufrag === ufrag) path.close();
  }

  /** Number of open paths. */
  get pathCount(): number {
    return this.#paths.size;
  }

  close(): void {
    this.#sweep.cancel();
    this.#closeServers();
    for (const path of [...this.#paths]) path.close();
    for (const socket of this.#unproven.keys()) socket.destroy();
    this.#unproven.clear();
  }

  async #listenOn(address: string, port: number): Promise<number> {
    const server = createServer({ noDelay: true }, (socket) => this.#onConnection(socket));
    this.#servers.add(server);
    server.listen({ host: address, port, backlog: BACKLOG });
    await once(server, 'listening');
    // For example EMFILE. The connection that caused the error is lost, and the others continue.
    server.on('error', () => undefined);
    const bound = server.address();
    const used = typeof bound === 'object' && bound !== null ? bound.port : port;
    const udp = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    this.#servers.add(udp);
    udp.bind({ address, port: used });
    await once(udp, 'listening');
    udp.on('error', () => undefined);
    udp.on('message', (packet, from) => this.#onDatagram(udp, packet, from));
    return used;
  }

  #closeServers(): void {
    for (const server of this.#servers) {
      // A socket that failed to open is already closed.
      try {
        server.close();
      } catch {
        // Nothing to free.
      }
    }
    this.#servers.clear();
  }

  #onDatagram(socket: UdpSocket, packet: Buffer, from: { address: string; port: number }): void {
    const { address, port } = from;
    const key = `${socket.address().address} ${address} ${port}`;
    const known = this.#udpPaths.get(key);
    const nowMs = this.#clock.monotonicMs();
    if (known !== undefined) {
      known.forwarded.forward(packet, nowMs);
      return;
    }
    const registration = this.#registrations.admit(packet);
    if (registration === null) return;
    const path = this.#open(registration, address, {
      send: (data) => {
        if (socket.getSendQueueSize() <= LIMITS.queuedBytes)
          socket.send(data, port, address, () => undefined);
      },
      onClosed: () => void this.#udpPaths.delete(key),
    });
    if (path === null) return;
    this.#udpPaths.set(key, path);
    path.forwarded.forward(packet, nowMs);
  }

  #onConnection(socket: TcpSocket): void {
    const address = socket.remoteAddress;
    socket.on('error', () => undefined);
    if (address === undefined || !this.#makeRoom(address)) {
      socket.destroy();
      return;
    }
    this.#unproven.set(socket, this.#clock.monotonicMs());
    const reader = new FrameReader();
    let path: Path | null = null;
    socket.once('close', () => {
      this.#unproven.delete(socket);
      path?.close();
    });
    socket.on('data', (chunk) => {
      for (const packet of reader.read(chunk) ?? [null]) {
        if (packet !== null) path ??= this.#prove(socket, address, packet);
        if (packet === null || path === null) {
          socket.destroy();
          return;
        }
        path.forwarded.forward(packet, this.#clock.monotonicMs());
      }
    });
  }

  /** @returns null: the first packet is no valid request, or there are too many paths */
  #prove(socket: TcpSocket, address: string, packet: Buffer): Path | null {
    const registration = this.#registrations.admit(packet);
    if (registration === null) return null;
    this.#unproven.delete(socket);
    return this.#open(registration, address, {
      send: (data) => {
        if (socket.writableLength <= LIMITS.queuedBytes) socket.write(framed(data));
      },
      onClosed: () => void socket.destroy(),
    });
  }

  #open(
    registration: Registration,
    address: string,
    { send, onClosed }: { send(data: Buffer): void; onClosed(): void },
  ): Path | null {
    if (!mayOpen(this.#paths, { registration, address })) return null;
    const events = { onPacket: send, onEnded: () => path.close() };
    const path: Path = {
      forwarded: new ForwardedPath(registration, events, this.#clock.monotonicMs()),
      registration,
      address,
      close: () => {
        if (!this.#paths.delete(path)) return;
        path.forwarded.close();
        onClosed();
      },
    };
    this.#paths.add(path);
    return path;
  }

  /**
   * Makes room for one more connection without a valid request. When there are too many, the oldest one is closed, so
   * that idle connections do not keep viewers out.
   * @returns false: this address has too many
   */
  #makeRoom(address: string): boolean {
    let ofAddress = 0;
    for (const { remoteAddress } of this.#unproven.keys()) if (remoteAddress === address) ofAddress += 1;
    if (ofAddress >= LIMITS.unprovenPerAddress) return false;
    const [oldest] = this.#unproven.keys();
    if (oldest !== undefined && this.#unproven.size >= LIMITS.unproven) {
      this.#unproven.delete(oldest);
      oldest.destroy();
    }
    return true;
  }

  #closeIdle(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [socket, sinceMs] of [...this.#unproven])
      if (nowMs - sinceMs >= LIMITS.provenWithinMs) socket.destroy();
    for (const path of [...this.#paths]) if (nowMs - path.forwarded.heardAtMs >= LIMITS.idleMs) path.close();
  }
}

/** Whether an error says that another program uses the port. */
function isTaken(error: unknown): boolean {
  return error instanceof Error && error.message.includes('EADDRINUSE');
}

/** Whether an error says that this machine has no IPv6. */
function noIpv6(error: unknown): boolean {
  return error instanceof Error && /EAFNOSUPPORT|EADDRNOTAVAIL/.test(error.message);
}

import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { Registration } from './registrations.ts';
import { readBindingRequest, repairRequest } from './stun.ts';

/** Packets that wait until the loopback socket is open, which takes less than a millisecond. Further ones are lost. */
const MAX_WAITING = 16;

export interface PathEvents {
  /** Called with each packet of the host for the browser. */
  onPacket(packet: Buffer): void;
  /** Called once, when the host's connection no longer receives. Not called after close(). */
  onEnded(): void;
}

/**
 * Forwards between one browser's address and one WebRTC connection of this host, over a UDP socket of its own. The
 * WebRTC library takes this socket for a further address of the browser (a peer-reflexive candidate).
 *
 * opening → open → closed. Owner: the forwarder.
 */
export class ForwardedPath {
  readonly registration: Registration;
  readonly #socket: Socket;
  #waiting: Buffer[] | null = [];
  #isClosed = false;
  /** Time of the browser's last packet, in monotonic milliseconds. */
  heardAtMs: number;

  constructor(registration: Registration, events: PathEvents, nowMs: number) {
    this.registration = registration;
    this.heardAtMs = nowMs;
    const { address, port } = registration;
    this.#socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    this.#socket.on('message', (packet) => {
      if (!this.#isClosed) events.onPacket(packet);
    });
    const fail = () => {
      if (this.#isClosed) return;
      this.close();
      events.onEnded();
    };
    // For example ECONNREFUSED, after the connection has closed its port.
    this.#socket.on('error', fail);
    // A connected socket receives only from this port, so no other program of the host can send to the browser.
    this.#socket.connect(port, address, (error?: Error | null) => {
      // Node passes the error only to this callback. A send() on a socket that is not connected throws.
      if (error) {
        fail();
        return;
      }
      const waiting = this.#waiting ?? [];
      this.#waiting = null;
      for (const packet of waiting) this.#send(packet);
    });
  }

  /** Forwards a packet of the browser to the host's connection. */
  forward(packet: Buffer, nowMs: number): void {
    this.heardAtMs = nowMs;
    const request = readBindingRequest(packet);
    const sent = request === null ? packet : repairRequest(request, this.registration.pwd);
    if (this.#waiting === null) this.#send(sent);
    // Copied, because the packet may be a slice of a stream's chunk.
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push(Buffer.from(sent));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.close();
  }

  #send(packet: Buffer): void {
    if (!this.#isClosed) this.#socket.send(packet, () => undefined);
  }
}

import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { refusalOf } from './stun.ts';

/** Above every real candidate, so that the library waits for this one. The largest value (RFC 8839, 5.1). */
const PRIORITY = 2 ** 31 - 1;

/**
 * Lets the WebRTC library wait before it nominates a path, up to 2 s (NOMINATION_TIMEOUT of libjuice).
 *
 * On a TURN relay over TCP, the library's own check succeeds although it refuses the browser's (stun.ts, repairRequest).
 * It would nominate this useless path at once, and ignore the repaired one that comes later through the fallback port.
 * libjuice waits while a candidate with a higher priority has not answered. So it gets a candidate that leads to a socket
 * of this object, which stays silent until release() and then refuses.
 *
 * holding → released → closed. Owner: the fallback offer.
 */
export class NominationHold {
  readonly #socket;
  #isReleased = false;
  #isClosed = false;
  /** The library's last request, which is answered by release(). */
  #request: Buffer | null = null;
  readonly #libraryPort: number;

  /**
   * @param address address of this machine, at which the library sends to this object and receives its answers
   * @param libraryPort the library's UDP port; datagrams of all other senders are ignored
   * @param onCandidate called once with the candidate for the library
   */
  constructor(address: string, libraryPort: number, onCandidate: (line: string) => void) {
    this.#libraryPort = libraryPort;
    this.#socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    // Without the socket, the library does not wait.
    this.#socket.on('error', () => this.close());
    this.#socket.on('message', (packet, from) => {
      // A program that sends to an address of its own machine gets this address as the source.
      if (from.port !== libraryPort || from.address !== this.#socket.address().address) return;
      this.#request = packet;
      if (this.#isReleased) this.#refuse();
    });
    this.#socket.bind({ address, port: 0 }, () => {
      if (this.#isClosed || this.#isReleased) return;
      const { port } = this.#socket.address();
      onCandidate(`candidate:hold 1 UDP ${PRIORITY} ${address} ${port} typ host`);
    });
    this.#socket.unref();
  }

  /** Lets the library nominate the best path that it has. */
  release(): void {
    this.#isReleased = true;
    this.#refuse();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.close();
  }

  #refuse(): void {
    if (this.#isClosed || this.#request === null) return;
    const refusal = refusalOf(this.#request);
    const { address } = this.#socket.address();
    if (refusal !== null) this.#socket.send(refusal, this.#libraryPort, address, () => undefined);
  }
}

/** Bytes of each body that are not counted, so that a sign-in is always accepted. */
const FREE_BYTES = 16 * 1024;
/**
 * Maximum bytes of one sender's concurrent bodies, without their uncounted parts. Clients send one or two bodies at the
 * same time.
 */
const SENDER_BYTES = 32 * 1024 * 1024;
/**
 * Memory per chunk in addition to its bytes: a buffer object and a list entry. 200,000 chunks of 64 bytes took 218
 * bytes each as parts of a longer read, and 556 as separate reads (Node 20.20, x86-64).
 */
const PIECE_BYTES = 512;

/** The memory of one body while it is received. */
export interface BodyClaim {
  /** Counts one chunk. @returns false: the sender uses too much memory, so the body must be refused */
  add(bytes: number): boolean;
  /** Releases the memory; a second call does nothing. */
  release(): void;
}

/**
 * Bounds the memory of bodies that are being received, per sender. Otherwise a thousand connections with unfinished
 * large bodies would keep a gigabyte until their timeout. If a sender has only one body in progress, this body is
 * always accepted; the operation limits its length.
 */
export class BodyMemory {
  readonly #freeBytes: number;
  readonly #senderBytes: number;
  /** Sender → counted bytes, and number of bodies with counted bytes. */
  readonly #held = new Map<string, { bytes: number; bodies: number }>();

  /** @param freeBytes bytes of each body that are not counted */
  constructor({ freeBytes = FREE_BYTES, senderBytes = SENDER_BYTES } = {}) {
    this.#freeBytes = freeBytes;
    this.#senderBytes = senderBytes;
  }

  /** @param sender the account id, or the common id of all requests without an account */
  claim(sender: string): BodyClaim {
    let bytes = 0;
    let counted = 0;
    return {
      add: (more) => {
        bytes += more + PIECE_BYTES;
        const beyond = Math.max(0, bytes - this.#freeBytes) - counted;
        if (beyond <= 0) return true;
        const held = this.#held.get(sender) ?? { bytes: 0, bodies: 0 };
        if (counted === 0) held.bodies += 1;
        held.bytes += beyond;
        counted += beyond;
        this.#held.set(sender, held);
        return held.bytes <= this.#senderBytes || held.bodies === 1;
      },
      release: () => {
        const held = this.#held.get(sender);
        if (held === undefined || counted === 0) return;
        held.bytes -= counted;
        held.bodies -= 1;
        counted = 0;
        if (held.bodies === 0) this.#held.delete(sender);
      },
    };
  }
}

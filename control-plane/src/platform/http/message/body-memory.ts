/** Part of each body that is not counted, so that a sign-in always passes (bytes). */
const FREE_BYTES = 16 * 1024;
/** Limit of one sender's concurrent bodies beyond their free parts. Clients send one or two at once. */
const SENDER_BYTES = 32 * 1024 * 1024;
/**
 * Memory of a chunk in addition to its bytes: a buffer and its place in a list. 200,000 chunks of 64 bytes took 218
 * bytes each as parts of a longer read, and 556 as separate reads (Node 20.20, x86-64).
 */
const PIECE_BYTES = 512;

/** Memory that one body holds while it is received. */
export interface BodyClaim {
  /** Counts one chunk. @returns false: the sender holds too much, so the body must be refused */
  add(bytes: number): boolean;
  /** Releases the memory; a second call does nothing. */
  release(): void;
}

/**
 * Bounds the memory of bodies that are being received, by sender: a thousand connections with unfinished large bodies
 * would hold a gigabyte until their timeout. A sender's only body always passes; the operation limits its length.
 */
export class BodyMemory {
  readonly #freeBytes: number;
  readonly #senderBytes: number;
  /** Sender → memory and number of its bodies beyond the free part. */
  readonly #held = new Map<string, { bytes: number; bodies: number }>();

  /** @param freeBytes part of each body that is not counted */
  constructor({ freeBytes = FREE_BYTES, senderBytes = SENDER_BYTES } = {}) {
    this.#freeBytes = freeBytes;
    this.#senderBytes = senderBytes;
  }

  /** @param sender the account, or what all requests without one share */
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

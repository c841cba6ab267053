/** Of each body; nobody else's large ones keep a sign-in out. */
const FREE_BYTES = 16 * 1024;
/** Beyond that, of all bodies of one sender that come at once. Clients have one or two under way. */
const SENDER_BYTES = 32 * 1024 * 1024;
/**
 * Memory of a piece besides its bytes: a buffer and its place in a list. 200,000 pieces of 64 bytes took 218 bytes each as
 * parts of a longer read, and 556 as reads of their own (Node 20.20, x86-64).
 */
const PIECE_BYTES = 512;

/** What one body holds while it comes. */
export interface BodyClaim {
  /** Counts one piece more. @returns false: its sender holds too much, so the body must be given up */
  add(bytes: number): boolean;
  /** Everything of it is given back; calling it again does nothing. */
  release(): void;
}

/**
 * Bounds the memory of bodies that are on their way, by sender: a thousand connections with a large body each, the end of
 * which never comes, would hold a gigabyte until their time is over. One body always passes, whatever its length: its
 * own bound is its operation's.
 */
export class BodyMemory {
  readonly #senderBytes: number;
  /** Sender → what its bodies hold beyond the free part, and how many of them there are. */
  readonly #held = new Map<string, { bytes: number; bodies: number }>();

  constructor(senderBytes = SENDER_BYTES) {
    this.#senderBytes = senderBytes;
  }

  /** @param sender the account, or what all requests without one share */
  claim(sender: string): BodyClaim {
    let bytes = 0;
    let counted = 0;
    return {
      add: (more) => {
        bytes += more + PIECE_BYTES;
        const beyond = Math.max(0, bytes - FREE_BYTES) - counted;
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

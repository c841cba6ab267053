import { AGENT_SEND_QUEUE_BYTES, AGENT_SEND_QUEUE_MESSAGES } from '@footlight/protocol/agent';

const TEXT = { binary: false };

/** The part of a socket that the queue needs. */
export interface QueueSocket {
  send(frame: Buffer, options: { binary: boolean }, sent: (error?: Error | null) => void): void;
}

/** Whose queue it is. */
export interface QueueOwner {
  /** A send was refused, and none had been since the queue last had room. */
  queueFull(): void;
}

/**
 * Bounds what waits in the process for one agent to read. The socket library keeps the frames; this counts what it
 * has not handed to the system yet. A full queue refuses at once: callers treat that like "not connected".
 */
export class SendQueue {
  readonly #socket: QueueSocket;
  readonly #owner: QueueOwner;
  #messages = 0;
  #bytes = 0;
  #full = false;

  constructor(socket: QueueSocket, owner: QueueOwner) {
    this.#socket = socket;
    this.#owner = owner;
  }

  /** Whether a send was refused and there has been no room since. */
  get full(): boolean {
    return this.#full;
  }

  /**
   * @param owed it goes out even when the queue is full, because nobody would send it later
   * @returns false when the queue is full; nothing was sent then
   */
  send(text: string, owed = false): boolean {
    const frame = Buffer.from(text);
    const bytes = frame.length;
    const full = this.#messages >= AGENT_SEND_QUEUE_MESSAGES || this.#bytes + bytes > AGENT_SEND_QUEUE_BYTES;
    if (full && !owed) {
      if (!this.#full) {
        this.#full = true;
        this.#owner.queueFull();
      }
      return false;
    }
    this.#messages += 1;
    this.#bytes += bytes;
    this.#socket.send(frame, TEXT, () => {
      this.#messages -= 1;
      this.#bytes -= bytes;
      this.#full = false;
    });
    return true;
  }
}

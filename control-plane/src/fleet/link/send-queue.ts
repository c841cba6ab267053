import { AGENT_SEND_QUEUE_BYTES, AGENT_SEND_QUEUE_MESSAGES } from '@footlight/protocol/agent';

const TEXT = { binary: false };

/** The methods of a socket that the queue needs. */
export interface QueueSocket {
  send(frame: Buffer, options: { binary: boolean }, sent: (error?: Error | null) => void): void;
}

/** Owner of a queue. */
export interface QueueOwner {
  /** Called at the first send that is refused because the queue became full. */
  queueFull(): void;
}

/**
 * Bounds the unsent bytes for one agent. The socket library queues the frames; this class counts the bytes that the
 * library has not yet passed to the operating system. A full queue refuses a frame immediately, and callers handle this
 * like "not connected".
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

  /** Whether a send was refused and the queue has been full since then. */
  get full(): boolean {
    return this.#full;
  }

  /**
   * @param mustSend send even when the queue is full; for messages that no later message replaces
   * @returns false when the queue is full; the frame was not sent
   */
  send(text: string, mustSend = false): boolean {
    const frame = Buffer.from(text);
    const bytes = frame.length;
    const full = this.#messages >= AGENT_SEND_QUEUE_MESSAGES || this.#bytes + bytes > AGENT_SEND_QUEUE_BYTES;
    if (full && !mustSend) {
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

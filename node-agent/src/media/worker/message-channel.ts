import type { Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';

/** Longest message in characters: the longest SDP (64 KiB) with every character escaped. */
const MAX_CHARACTERS = 512 * 1024;
/**
 * Longest queue of unsent messages in bytes: twice the size of the messages that a viewer can send while it waits for
 * the worker.
 */
const MAX_QUEUED_BYTES = 16 * 1024 * 1024;

/** File descriptor of the channel in a program that forkEntry starts. */
export const CHANNEL_FD = 3;

export interface MessageChannelEvents {
  /** Called with each message, which is not validated, and its length in characters. */
  onMessage(raw: unknown, characters: number): void;
  /**
   * Called when the other side sent a malformed message or does not read. The channel is then closed, and onClosed is
   * called.
   */
  onBroken(why: string): void;
  onClosed(): void;
}

/**
 * JSON messages between the agent and one of its own programs, one per line.
 *
 * Node's own channel (`ipc`) is not used, because a viewer may have exploited a media worker. Node's channel has no
 * size limit, and a line that is not JSON, or that imitates one of Node's internal messages, ends the process that
 * reads it.
 *
 * open → closed, by close(), by the other side, or after a malformed message; onClosed is called exactly once. Owner:
 * the worker pool, and the worker itself.
 */
export class MessageChannel {
  readonly #socket: Socket;
  readonly #events: MessageChannelEvents;
  readonly #decoder = new StringDecoder('utf8');
  /** Parts of an incomplete line. */
  #parts: string[] = [];
  #characters = 0;
  #open = true;

  constructor(socket: Socket, events: MessageChannelEvents) {
    this.#socket = socket;
    this.#events = events;
    socket.on('data', (chunk: Buffer) => this.#read(this.#decoder.write(chunk)));
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.#open = false;
      events.onClosed();
    });
  }

  get open(): boolean {
    return this.#open;
  }

  /** Queues a message; dropped when the channel is closed. @param sent called when the message was sent or dropped */
  send(message: object, sent: () => void = () => undefined): void {
    if (!this.#open) {
      sent();
      return;
    }
    this.#socket.write(`${JSON.stringify(message)}\n`, () => sent());
    if (this.#socket.writableLength > MAX_QUEUED_BYTES) this.#break('it does not read its messages');
  }

  close(): void {
    this.#open = false;
    this.#socket.destroy();
  }

  #read(text: string): void {
    const [rest = '', ...lines] = text.split('\n').reverse();
    for (const line of lines.reverse()) {
      this.#parts.push(line);
      const whole = this.#parts.join('');
      this.#parts = [];
      this.#characters = 0;
      if (!this.#take(whole)) return;
    }
    this.#parts.push(rest);
    this.#characters += rest.length;
    if (this.#characters > MAX_CHARACTERS) this.#break(`a message of more than ${MAX_CHARACTERS} characters`);
  }

  /** Handles one line. @returns false: the channel is closed */
  #take(line: string): boolean {
    let raw: unknown;
    try {
      raw = JSON.parse(line);
    } catch {
      this.#break('a message that is no JSON');
      return false;
    }
    if (this.#open) this.#events.onMessage(raw, line.length);
    return this.#open;
  }

  #break(why: string): void {
    if (!this.#open) return;
    this.close();
    this.#events.onBroken(why);
  }
}

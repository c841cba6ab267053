import type { Duplex } from 'node:stream';

/**
 * Kinds of messages on the pipe between media worker and file process. `text` and `binary` are messages of the data
 * channel `files`, unchanged. Format: u8 kind, u32 length, then the message. reset: another viewer uses the channel
 * now, so all transfers are cancelled; the file process answers with a reset too.
 */
const KINDS = ['text', 'binary', 'reset'] as const;
type Kind = (typeof KINDS)[number];
const HEADER_BYTES = 5;
/** The longest message of a data channel in Chromium. */
const MAX_MESSAGE_BYTES = 256 * 1024;

export interface FilePipeEvents {
  onText(text: string): void;
  onBinary(data: Buffer): void;
  onReset(): void;
  /** The other end has closed the pipe, or sent a malformed message. */
  onClosed(): void;
}

/**
 * One end of the pipe. open → closed, by close(), by the other end, or after a malformed message. onClosed is called
 * once, but not after close(). The pipe owns its stream.
 */
export class FilePipe {
  readonly #stream: Duplex;
  readonly #events: FilePipeEvents;
  #parts: Buffer[] = [];
  #bytes = 0;
  #open = true;
  #isPaused = false;

  constructor(stream: Duplex, events: FilePipeEvents) {
    this.#stream = stream;
    this.#events = events;
    stream.on('data', (chunk: Buffer) => this.#read(chunk));
    stream.on('error', () => this.#lost());
    stream.on('end', () => this.#lost());
    stream.on('close', () => this.#lost());
  }

  /** Number of bytes that the other end has not read yet. */
  get waitingBytes(): number {
    return this.#stream.writableLength;
  }

  send(message: string | Uint8Array): void {
    if (typeof message === 'string') this.#write('text', Buffer.from(message));
    else this.#write('binary', message);
  }

  reset(): void {
    this.#write('reset', new Uint8Array());
  }

  /** Calls `drained` once, when the stream's buffer is empty again. */
  onDrain(drained: () => void): void {
    this.#stream.once('drain', drained);
  }

  /** Delivers no messages until resume() is called, not even messages that were already read. */
  pause(): void {
    this.#isPaused = true;
    this.#stream.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#takeRead();
    if (!this.#isPaused) this.#stream.resume();
  }

  close(): void {
    this.#open = false;
    this.#stream.destroy();
  }

  #write(kind: Kind, message: Uint8Array): void {
    if (!this.#open) return;
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt8(KINDS.indexOf(kind), 0);
    header.writeUInt32LE(message.length, 1);
    this.#stream.write(Buffer.concat([header, message]));
  }

  #read(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#bytes += chunk.length;
    this.#takeRead();
  }

  #takeRead(): void {
    while (this.#open && !this.#isPaused && this.#bytes >= HEADER_BYTES) {
      const [first = Buffer.alloc(0)] = this.#parts;
      const header = first.length >= HEADER_BYTES ? first : this.#whole();
      const length = header.readUInt32LE(1);
      const kind = KINDS[header.readUInt8(0)];
      if (kind === undefined || length > MAX_MESSAGE_BYTES) {
        this.#lost();
        return;
      }
      if (this.#bytes < HEADER_BYTES + length) return;
      const all = this.#whole();
      const rest = all.subarray(HEADER_BYTES + length);
      this.#parts = rest.length === 0 ? [] : [rest];
      this.#bytes = rest.length;
      this.#take(kind, all.subarray(HEADER_BYTES, HEADER_BYTES + length));
    }
  }

  /** Joins the received chunks into one buffer. */
  #whole(): Buffer {
    const [first] = this.#parts;
    const whole = this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts);
    this.#parts = [whole];
    return whole;
  }

  #take(kind: Kind, message: Buffer): void {
    if (kind === 'text') this.#events.onText(message.toString('utf8'));
    else if (kind === 'binary') this.#events.onBinary(message);
    else this.#events.onReset();
  }

  #lost(): void {
    if (!this.#open) return;
    this.close();
    this.#events.onClosed();
  }
}

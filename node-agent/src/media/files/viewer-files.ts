import type { Duplex } from 'node:stream';
import type { Timer } from '@footlight/platform';
import { FilesPace } from '@footlight/platform/files-pace';
import { decodeChunk, encodeChunk, FILE_CHUNK_BYTES, FILES_BUFFER_BYTES } from '@footlight/protocol/files';
import { RateWindow } from '../input/input-guard.ts';
import type { MediaClock } from '../session/media-clock.ts';
import type { OwnChannel } from '../webrtc/peer.ts';
import { FilePipe } from './file-pipe.ts';

/**
 * Largest number of bytes that wait until the file process reads them. A disk writes a gigabit per second, so only a
 * hanging disk exceeds this.
 */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/**
 * Largest number of text messages per second. A viewer that uploads a folder of small files sends a few dozen. Chosen,
 * not measured.
 */
const TEXTS_PER_SECOND = 200;
/** Longest text message, enough for a path of 1024 bytes, all escaped, and the rest of the message. */
const MAX_TEXT_CHARACTERS = 8_192;
const MAX_BINARY_BYTES = FILE_CHUNK_BYTES + 4;
/** Number of buffered bytes in the channel below which the channel requests more. */
const LOW_BYTES = FILES_BUFFER_BYTES / 4;

/**
 * The channel `files` of a session's newest viewer: forwards messages between viewer and file process without parsing
 * them. This class does not access a disk, because a slow disk would delay the picture, which this process sends.
 *
 * idle ⇄ one viewer's channel. When a newer channel replaces it, or when it ends, its transfers are cancelled. Owner:
 * the media session. close() frees channel and pipe.
 */
export class ViewerFiles {
  readonly #pipe: FilePipe;
  readonly #clock: MediaClock;
  #channel: OwnChannel | null = null;
  #texts = new RateWindow(TEXTS_PER_SECOND);
  readonly #pace = new FilesPace();
  /** Messages for the viewer. While some wait, no further messages are read from the file process. */
  #outbox: (Uint8Array | string)[] = [];
  /** Set while the next message waits for the pace. */
  #timer: Timer | null = null;
  /**
   * Number of resets that the file process has not confirmed. While it is above 0, the received messages are for a
   * former viewer.
   */
  #resets = 0;
  #closed = false;

  /** @param stream connection to the agent, which starts the file process when the first message arrives */
  constructor(stream: Duplex, clock: MediaClock) {
    this.#clock = clock;
    this.#pipe = new FilePipe(stream, {
      onText: (text) => this.#toViewer(text),
      onBinary: (data) => this.#toViewer(data),
      onReset: () => {
        this.#resets = Math.max(0, this.#resets - 1);
      },
      onClosed: () => this.close(),
    });
  }

  /** Called when a viewer that supports file transfers is connected: its channel replaces the former one. */
  use(channel: OwnChannel): void {
    if (this.#closed) {
      channel.close();
      return;
    }
    this.#drop();
    this.#channel = channel;
    this.#pace.reset();
    this.#texts = new RateWindow(TEXTS_PER_SECOND);
    channel.listen({
      lowBytes: LOW_BYTES,
      onLow: () => {
        if (this.#channel === channel) this.#sendMore();
      },
      onMessage: (data) => {
        if (this.#channel === channel) this.#toHome(data);
      },
      onClosed: () => {
        if (this.#channel === channel) this.#drop();
      },
    });
  }

  /**
   * Reports the queueing delay of the picture's path, because files must not delay the picture.
   * @param queueMs queueing delay in milliseconds
   */
  heard(queueMs: number): void {
    this.#pace.heard(queueMs, this.#clock.monotonicMs());
  }

  close(): void {
    if (this.#closed) return;
    this.#drop();
    this.#closed = true;
    this.#pipe.close();
  }

  #drop(): void {
    const channel = this.#channel;
    if (channel === null) return;
    this.#channel = null;
    this.#outbox = [];
    this.#timer?.cancel();
    this.#timer = null;
    channel.close();
    this.#resets += 1;
    this.#pipe.reset();
    // Continues to read, because answers to the former viewer must be read and dropped.
    this.#pipe.resume();
  }

  #toHome(data: Buffer | string): void {
    const fits =
      typeof data === 'string'
        ? data.length <= MAX_TEXT_CHARACTERS && this.#texts.take(this.#clock.monotonicMs())
        : data.length <= MAX_BINARY_BYTES;
    if (!fits || this.#pipe.waitingBytes > MAX_WAITING_BYTES) this.#drop();
    else this.#pipe.send(data);
  }

  #toViewer(data: Buffer | string): void {
    if (this.#channel === null || this.#resets > 0) return;
    this.#outbox.push(data);
    this.#sendMore();
  }

  /** Sends waiting messages while the pace and the channel allow it. */
  #sendMore(): void {
    const channel = this.#channel;
    if (channel === null || this.#timer !== null) return;
    for (let next = this.#outbox.shift(); next !== undefined; next = this.#outbox.shift()) {
      const nowMs = this.#clock.monotonicMs();
      const waitMs = this.#pace.waitMs(channel.bufferedAmount, nowMs);
      if (waitMs > 0 || channel.bufferedAmount > FILES_BUFFER_BYTES) {
        this.#outbox.unshift(next);
        this.#pipe.pause();
        if (waitMs > 0) this.#wait(waitMs);
        return;
      }
      const frame = this.#take(next);
      this.#pace.sent(frame.length, nowMs);
      channel.send(
        typeof frame === 'string' ? frame : Buffer.from(frame.buffer, frame.byteOffset, frame.length),
      );
    }
    this.#pipe.resume();
  }

  /** Returns the part of a message that the pace allows now; the rest stays in the outbox. */
  #take(message: Uint8Array | string): Uint8Array | string {
    const chunk = typeof message === 'string' ? null : decodeChunk(message);
    if (chunk === null) return message;
    const most = this.#pace.frameBytes(FILE_CHUNK_BYTES);
    if (chunk.data.length <= most) return message;
    this.#outbox.unshift(encodeChunk(chunk.id, chunk.data.subarray(most)));
    return encodeChunk(chunk.id, chunk.data.subarray(0, most));
  }

  #wait(ms: number): void {
    this.#timer = this.#clock.setTimeout(() => {
      this.#timer = null;
      this.#sendMore();
    }, ms);
  }
}

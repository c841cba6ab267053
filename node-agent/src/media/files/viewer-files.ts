import type { Duplex } from 'node:stream';
import { FILE_CHUNK_BYTES, FILES_BUFFER_BYTES } from '@footlight/protocol/files';
import { RateWindow } from '../input/input-guard.ts';
import type { MediaClock } from '../session/media-clock.ts';
import type { OwnChannel } from '../webrtc/peer.ts';
import { FilePipe } from './file-pipe.ts';

/** What the file process has not taken; a disk takes a gigabit a second, so only one that hangs reaches this. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** A person who drops a folder of small files sends a few dozen. Chosen, not measured. */
const TEXTS_PER_SECOND = 200;
/** A path of 1024 bytes, each escaped, and the rest of its message. */
const MAX_TEXT_CHARACTERS = 8_192;
const MAX_BINARY_BYTES = FILE_CHUNK_BYTES + 4;
/** The channel asks for more when so much is left in it. */
const LOW_BYTES = FILES_BUFFER_BYTES / 4;

/**
 * The channel `files` of a session's newest viewer: passes its messages between viewer and file process, and reads none
 * of them. No disk is touched here, because this process sends the picture.
 *
 * idle ⇄ one viewer's channel; another viewer's, or its end, cancels what runs. Owner: the media session. close() frees
 * channel and pipe.
 */
export class ViewerFiles {
  readonly #pipe: FilePipe;
  readonly #clock: MediaClock;
  #channel: OwnChannel | null = null;
  #texts = new RateWindow(TEXTS_PER_SECOND);
  #closed = false;

  /** @param stream towards the agent, which starts the file process with the first message */
  constructor(stream: Duplex, clock: MediaClock) {
    this.#clock = clock;
    this.#pipe = new FilePipe(stream, {
      onText: (text) => this.#toViewer(text),
      onBinary: (data) => this.#toViewer(data),
      onReset: () => undefined,
      onClosed: () => this.close(),
    });
  }

  /** A viewer that knows the feature is there: its channel replaces the former one. */
  use(channel: OwnChannel): void {
    if (this.#closed) {
      channel.close();
      return;
    }
    this.#drop();
    this.#channel = channel;
    this.#texts = new RateWindow(TEXTS_PER_SECOND);
    channel.listen({
      lowBytes: LOW_BYTES,
      onLow: () => {
        if (this.#channel === channel) this.#pipe.resume();
      },
      onMessage: (data) => {
        if (this.#channel === channel) this.#toHome(data);
      },
      onClosed: () => {
        if (this.#channel === channel) this.#drop();
      },
    });
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
    channel.close();
    this.#pipe.reset();
    // Answers to the former viewer are read and dropped.
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
    const channel = this.#channel;
    if (channel === null) return;
    channel.send(data);
    if (channel.bufferedAmount > FILES_BUFFER_BYTES) this.#pipe.pause();
  }
}

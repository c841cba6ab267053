import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { type Clock, SECOND_MS, type Timer } from '@footlight/platform';
import { ApiError, unavailable } from '../platform/errors.ts';
import { extendRequest } from '../platform/http/connection/long-request.ts';

/** A host that was asked sends its first byte within this time, and a transfer that stands still ends after it. */
const STILL_LIMIT_MS = 30 * SECOND_MS;
/** Downloads that wait or run at once; each holds two connections. Chosen, not measured. */
const MAX_TRANSFERS = 16;

interface Transfer {
  readonly hostId: string;
  /** Waits for its host; afterwards nothing more is taken. */
  isWaiting: boolean;
  take(upload: { body: IncomingMessage; bytes: number }): void;
}

/** What an administrator receives. */
export interface Passed {
  body: Readable;
  bytes: number;
}

/**
 * Recordings on their way from hosts to administrators.
 *
 * A transfer: waiting (an administrator asked, the host was told) → passing (the host sends) → over. Bytes go from one
 * connection to the other and wait on neither side: a reader that reads slowly slows the host. It is over when the last
 * byte was taken, when one side goes away, and when nothing moves for 30 s. One reader for each recording. The transfers
 * are those of this process: an administrator and a host have to reach the same one.
 */
export class Transfers {
  readonly #clock: Clock;
  readonly #transfers = new Map<string, Transfer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Waits for a host to send a recording.
   * @param gone calls its argument when the administrator's connection closes
   * @param ask tells the host; a refusal of it ends the wait
   * @throws ApiError 409 while it is being downloaded, 503 when there are too many or nothing comes in time, and what
   *   `ask` throws
   */
  async receive(
    recordingId: string,
    hostId: string,
    gone: (cancel: () => void) => void,
    ask: () => Promise<void>,
  ): Promise<Passed> {
    if (this.#transfers.has(recordingId))
      throw new ApiError('conflict', { message: 'This recording is being downloaded.' });
    if (this.#transfers.size >= MAX_TRANSFERS)
      throw unavailable('Too many recordings are being downloaded; try again in a moment.');
    let timer: Timer | null = null;
    const arrived = new Promise<Passed>((resolve, reject) => {
      const transfer: Transfer = {
        hostId,
        isWaiting: true,
        take: ({ body, bytes }) => resolve({ body: this.#pass(recordingId, body), bytes }),
      };
      this.#transfers.set(recordingId, transfer);
      timer = this.#clock.setTimeout(() => reject(new ApiError('agent_not_connected')), STILL_LIMIT_MS);
      gone(() => {
        transfer.isWaiting = false;
        reject(new ApiError('agent_not_connected', { message: 'The reader went away.' }));
      });
    });
    arrived.catch(() => undefined);
    try {
      await ask();
      return await arrived;
    } catch (error) {
      this.#transfers.delete(recordingId);
      throw error;
    } finally {
      (timer as Timer | null)?.cancel();
    }
  }

  /**
   * Passes on what a host sends; settles when its last byte was taken.
   * @throws ApiError 409 when nobody waits for it from this host, or the one who did went away
   */
  async send(
    recordingId: string,
    hostId: string,
    upload: { body: IncomingMessage; bytes: number },
  ): Promise<void> {
    const transfer = this.#transfers.get(recordingId);
    if (transfer === undefined || transfer.hostId !== hostId || !transfer.isWaiting) throw nobodyWaits();
    transfer.isWaiting = false;
    extendRequest(upload.body);
    const over = new Promise<boolean>((resolve) => {
      upload.body.once('close', () => resolve(upload.body.readableEnded));
    });
    transfer.take(upload);
    if (!(await over)) throw nobodyWaits();
  }

  /** The stream for the administrator; it ends the host's request with it, and both when nothing moves. */
  #pass(recordingId: string, source: IncomingMessage): Readable {
    let still: Timer | null = null;
    const end = () => {
      still?.cancel();
      this.#transfers.delete(recordingId);
    };
    const moved = () => {
      still?.cancel();
      still = this.#clock.setTimeout(
        () => passed.destroy(new Error('the transfer stood still')),
        STILL_LIMIT_MS,
      );
    };
    const passed = new Readable({
      read() {
        moved();
        source.resume();
      },
      destroy(error, done) {
        end();
        if (!source.readableEnded) source.destroy();
        done(error);
      },
    });
    source.on('data', (chunk: Buffer) => {
      moved();
      if (!passed.push(chunk)) source.pause();
    });
    source.once('end', () => passed.push(null));
    source.once('error', (error) => passed.destroy(error));
    source.once('close', () => {
      if (!source.readableEnded) passed.destroy(new Error('the host went away'));
    });
    moved();
    return passed;
  }
}

const nobodyWaits = (): ApiError =>
  new ApiError('conflict', {
    message: 'Nobody waits for this recording.',
    // The rest of the body is not read.
    headers: { connection: 'close' },
  });

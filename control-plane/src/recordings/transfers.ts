import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Clock, Timer } from '@footlight/platform';
import type { Subscription } from '../platform/bus/bus.ts';
import { ApiError, unavailable } from '../platform/errors.ts';
import { extendRequest } from '../platform/http/connection/long-request.ts';
import type { Platform } from '../platform/platform.ts';
import { offerToReplicas, passToReplica, type SentRecording, STILL_LIMIT_MS } from './relay.ts';

/** Maximum downloads that wait or run at the same time; each uses two connections. Chosen, not measured. */
const MAX_TRANSFERS = 16;

interface Transfer {
  readonly hostId: string;
  /** Whether the transfer still waits for the host; otherwise the host's bytes are refused. */
  isWaiting: boolean;
  /** The host's upload; null: the upload has not begun. */
  passed: Readable | null;
  take(upload: SentRecording): void;
  /** Subscriptions for an upload that arrives at another replica; closed at the end. */
  elsewhere: Subscription;
}

/** The stream to the administrator. */
export interface Passed {
  body: Readable;
  bytes: number;
}

/**
 * Transfers of recordings from hosts to administrators.
 *
 * States of a transfer: waiting (the host was asked to send) → passing (the host sends) → over. Bytes are piped from
 * one connection to the other without buffering, so a slow reader slows the host down. A transfer is over when the last
 * byte was read, when one side disconnects, or when no bytes move for 30 s. A replica allows one reader per recording.
 * If the host is connected to another replica than the administrator, its bytes arrive over the bus.
 */
export class Transfers {
  readonly #platform: Pick<Platform, 'bus' | 'random'>;
  readonly #clock: Clock;
  readonly #transfers = new Map<string, Transfer>();

  constructor(platform: Pick<Platform, 'bus' | 'clock' | 'random'>) {
    this.#platform = platform;
    this.#clock = platform.clock;
  }

  /**
   * Waits for a host to send a recording.
   * @param gone registers a function that is called when the administrator's connection closes
   * @param ask sends the command to the host; a refusal ends the wait
   * @throws ApiError 409 while the recording is already being downloaded, 503 when there are too many downloads or the
   *   host sends nothing in time; also the errors of `ask`
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
    const transfer: Transfer = {
      hostId,
      isWaiting: true,
      passed: null,
      take: () => undefined,
      elsewhere: offerToReplicas(this.#platform, recordingId, (from, upload) =>
        this.#accept(recordingId, from, upload),
      ),
    };
    this.#transfers.set(recordingId, transfer);
    const arrived = new Promise<Passed>((resolve, reject) => {
      transfer.take = ({ body, bytes }) => {
        transfer.passed = this.#pass(body, () => this.#forget(recordingId, transfer));
        resolve({ body: transfer.passed, bytes });
      };
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
      this.#forget(recordingId, transfer);
      // A host may send bytes and refuse the command at the same time; nobody would then read the bytes, so drop them.
      transfer.passed?.destroy();
      throw error;
    } finally {
      (timer as Timer | null)?.cancel();
    }
  }

  /**
   * Relays a host's upload; settles when the last byte was accepted.
   * @throws ApiError 409 when no reader waits for this recording from this host, or the reader has disconnected
   */
  async send(
    recordingId: string,
    hostId: string,
    upload: { body: IncomingMessage; bytes: number },
  ): Promise<void> {
    const over = new Promise<boolean>((resolve) => {
      upload.body.once('close', () => resolve(upload.body.readableEnded));
    });
    extendRequest(upload.body);
    const isTaken = this.#accept(recordingId, hostId, upload)
      ? await over
      : await passToReplica(this.#platform.bus, recordingId, hostId, upload);
    if (!isTaken) throw nobodyWaits();
  }

  /** Whether a reader on this replica waits for this recording from this host. If so, the transfer is claimed. */
  #accept(recordingId: string, hostId: string, upload: SentRecording): boolean {
    const transfer = this.#transfers.get(recordingId);
    if (transfer === undefined || transfer.hostId !== hostId || !transfer.isWaiting) return false;
    transfer.isWaiting = false;
    transfer.take(upload);
    return true;
  }

  /** Removes a transfer from the map; a later transfer of the same recording stays. */
  #forget(recordingId: string, transfer: Transfer): void {
    transfer.elsewhere.close();
    if (this.#transfers.get(recordingId) === transfer) this.#transfers.delete(recordingId);
  }

  /**
   * Creates the stream for the administrator. Its end also ends the host's request. It ends when no bytes arrive for
   * STILL_LIMIT_MS.
   * @param over called at the end of the stream
   */
  #pass(source: Readable, over: () => void): Readable {
    let still: Timer | null = null;
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
        still?.cancel();
        over();
        if (!source.readableEnded) source.destroy();
        done(error);
      },
    });
    // Ignore the error: the host may disconnect before the stream is read, and an error without a listener would end
    // the process.
    passed.on('error', () => undefined);
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

const nobodyWaits = (): ApiError => new ApiError('conflict', { message: 'Nobody waits for this recording.' });

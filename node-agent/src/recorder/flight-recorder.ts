import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { type Clock, errorText, type Logger, MINUTE_MS, type Timer, TokenBucket } from '@footlight/platform';
import { cutUtf8 } from '@footlight/protocol';
import {
  FAILED_RING_KEPT_MS,
  MAX_HOST_SESSIONS,
  type RecordingEvent,
  type SessionRecording,
  type StreamSpec,
} from '@footlight/protocol/agent';
import type { CommandAnswer } from '../link/ack-store.ts';
import { RecordReader } from '../media/recording/stream-records.ts';
import type { WriteAnswer } from '../media/recording/write-messages.ts';
import type { OpenRecording, RecordingFiles } from './recording-files.ts';
import { RecordingRing } from './recording-ring.ts';
import type { WriteRecording } from './recording-writer.ts';

/**
 * Largest total size of the rings of failed sessions, in bytes. Above this size, the oldest ring is removed before its
 * 10 minutes have passed. Chosen, not measured.
 */
const FAILED_RINGS_BYTES = 512 * 1024 * 1024;
/**
 * Largest number of freezes that wait or are being written, each with up to 64 MiB. They are written one after the
 * other.
 */
const MAX_FREEZES = 4;
const MAX_UPLOADS = 2;
/** Number of remembered freezes: the same as the number of commands whose answers are stored. */
const MAX_ACCEPTED = 512;
const SWEEP_MS = 10 * MINUTE_MS;
/**
 * Rate at which a worker's records are read: twice its bitrate, and at least 2 MiB a second, because keyframes and
 * sound are added to the bitrate. Further records wait in the pipe; when it is full, the worker skips pictures. Chosen,
 * not measured.
 */
const LEAST_BYTES_PER_SECOND = 2 * 1024 * 1024;
const BURST_BYTES = 16 * 1024 * 1024;
/**
 * Each record counts as at least this many bytes, because even a short record costs time: a worker that sent only
 * headers blocked this process for five seconds. At this size, 240 pictures per second use half of
 * LEAST_BYTES_PER_SECOND.
 */
const RECORD_BYTES = 4 * 1024;
const READ_AGAIN_MS = 100;
const ERROR_BYTES = 256;
const OK: CommandAnswer = { ok: true };

export interface FlightRecorderDeps {
  clock: Clock;
  logger: Logger;
  files: RecordingFiles;
  /** Writes records to a file. Never rejects. */
  write(recording: WriteRecording): Promise<WriteAnswer>;
  /** Sends the event that ends a freeze. */
  report(sessionId: string, event: RecordingEvent): void;
  /** Sends a recording to the control plane. Rejects if the control plane did not receive it completely. */
  upload(id: string, recording: OpenRecording): Promise<void>;
}

interface RecordedSession {
  readonly id: string;
  readonly codec: StreamSpec['codec'];
  readonly ring: RecordingRing;
  /**
   * Whether a recording of this session is being written or waits for an earlier one; a second freeze is then refused.
   */
  isFreezing: boolean;
  /** Timer that removes the ring of a failed session; null: the session has not failed. */
  removal: Timer | null;
}

/**
 * The last minute of each recorded session, and the recordings of this host.
 *
 * A ring: open (the session lives) → failed (kept for 10 minutes, no records are added) → removed. The ring of a
 * session that stops normally is removed at once. A freeze copies the current content of the ring and ends in exactly
 * one session.recording event. The rings are in this process instead of the media workers, so that the last minute
 * before a worker's crash is kept. Owner: the agent, which calls open() once before the first session, and close()
 * once.
 */
export class FlightRecorder {
  readonly #deps: FlightRecorderDeps;
  readonly #sessions = new Map<string, RecordedSession>();
  /**
   * Ids of recordings whose freeze was accepted, newest last. Because they are stored, a repeated command has no second
   * effect.
   */
  readonly #accepted = new Set<string>();
  /** Ids of recordings that are being sent. */
  readonly #uploads = new Set<string>();
  /** Number of running and waiting freezes. */
  #freezes = 0;
  #writing: Promise<void> = Promise.resolve();
  #sweep: Timer | null = null;

  constructor(deps: FlightRecorderDeps) {
    this.#deps = deps;
  }

  /** Opens the directory of recordings. Never rejects: without the directory, freezes fail but sessions run. */
  async open(): Promise<void> {
    const { files, clock, logger } = this.#deps;
    await files.open().catch((error) => logger.warn({ error: errorText(error) }, 'recorder.files_failed'));
    this.#sweep = clock.setInterval(() => void files.sweep(), SWEEP_MS);
  }

  close(): void {
    this.#sweep?.cancel();
    for (const { removal } of this.#sessions.values()) removal?.cancel();
    this.#sessions.clear();
  }

  /** Creates the ring of a session. */
  begin(sessionId: string, { codec }: Pick<StreamSpec, 'codec'>): void {
    this.#sessions.set(sessionId, {
      ...{ id: sessionId, codec, ring: new RecordingRing() },
      ...{ isFreezing: false, removal: null },
    });
  }

  /** Fills a session's ring from its media worker. @param records of MediaWorker.recording */
  follow(sessionId: string, records: Readable, { bitrate_kbps }: Pick<StreamSpec, 'bitrate_kbps'>): void {
    const session = this.#sessions.get(sessionId);
    if (session === undefined) return;
    const { clock, logger } = this.#deps;
    const perSecond = Math.max(LEAST_BYTES_PER_SECOND, (2 * bitrate_kbps * 1000) / 8);
    const budget = new TokenBucket(perSecond, Math.max(BURST_BYTES, perSecond), clock.monotonicMs());
    const reader = new RecordReader();
    records.on('data', (chunk: Buffer) => {
      const nowMs = clock.monotonicMs();
      let count = 0;
      try {
        for (const record of reader.push(chunk)) {
          session.ring.add(record, nowMs);
          count += 1;
        }
      } catch (error) {
        logger.warn({ session_id: sessionId, error: errorText(error) }, 'recorder.stream_broken');
        records.destroy();
        return;
      }
      budget.take(nowMs, Math.max(chunk.length, count * RECORD_BYTES));
      if (!budget.isEmpty(nowMs)) return;
      records.pause();
      const again = () => {
        if (budget.isEmpty(clock.monotonicMs())) clock.setTimeout(again, READ_AGAIN_MS);
        else records.resume();
      };
      clock.setTimeout(again, READ_AGAIN_MS);
    });
  }

  /** Ends the ring of a session. @param failed whether the ring is kept for 10 minutes */
  end(sessionId: string, failed: boolean): void {
    const session = this.#sessions.get(sessionId);
    if (session === undefined) return;
    if (!failed) {
      this.#sessions.delete(sessionId);
      return;
    }
    session.removal = this.#deps.clock.setTimeout(
      () => this.#sessions.delete(sessionId),
      FAILED_RING_KEPT_MS,
    );
    this.#boundFailed();
  }

  /** Accepts or refuses a freeze; an event reports the result. @param isHeld whether the session is on this host */
  async command({ op, session_id, recording_id }: SessionRecording, isHeld: boolean): Promise<CommandAnswer> {
    return op === 'freeze' ? this.#freeze(session_id, recording_id, isHeld) : this.#beginUpload(recording_id);
  }

  #freeze(sessionId: string, recordingId: string, isHeld: boolean): CommandAnswer {
    if (this.#accepted.has(recordingId)) return OK;
    const session = this.#sessions.get(sessionId);
    if (session === undefined) {
      return isHeld
        ? { ok: false, code: 'unsupported', error: 'this session is not recorded' }
        : { ok: false, code: 'no_such_session', error: 'nothing is kept of this session' };
    }
    if (session.isFreezing)
      return { ok: false, code: 'busy', error: 'a recording of this session is being written' };
    if (this.#freezes >= MAX_FREEZES)
      return { ok: false, code: 'busy', error: 'too many recordings of this host are being written' };
    // Copied now, because pictures that arrive while the file waits to be written do not belong to this freeze.
    const records = session.ring.frozen();
    this.#accept(recordingId);
    session.isFreezing = true;
    this.#freezes += 1;
    this.#writing = this.#writing
      .then(() => this.#write(recordingId, session.codec, records))
      .then((payload) => {
        session.isFreezing = false;
        this.#freezes -= 1;
        this.#report(sessionId, payload);
      });
    return OK;
  }

  #accept(recordingId: string): void {
    this.#accepted.add(recordingId);
    for (const oldest of this.#accepted) {
      if (this.#accepted.size <= MAX_ACCEPTED) return;
      this.#accepted.delete(oldest);
    }
  }

  /** Writes a recording to its file. Never rejects. */
  async #write(id: string, codec: StreamSpec['codec'], records: readonly Buffer[]): Promise<RecordingEvent> {
    const { files, write } = this.#deps;
    let file: FileHandle | null = null;
    try {
      const kept = await files.read(id);
      if (kept !== null) {
        await kept.file.close();
        throw new Error('there is a recording of this id');
      }
      if (records.length === 0) throw new Error('nothing was recorded yet');
      file = await files.create(id);
      const answer = await write({ codec, records, file });
      if (!answer.ok) throw new Error(answer.why);
      const bytes = await files.keep(id, file);
      return { recording_id: id, state: 'ready', bytes, duration_ms: answer.duration_ms };
    } catch (error) {
      await files.discard(id);
      return { recording_id: id, state: 'failed', error: cutUtf8(errorText(error), ERROR_BYTES) };
    } finally {
      await file?.close().catch(() => undefined);
    }
  }

  #report(sessionId: string, payload: RecordingEvent): void {
    this.#deps.logger.info({ session_id: sessionId, ...payload }, 'recorder.frozen');
    this.#deps.report(sessionId, payload);
  }

  async #beginUpload(id: string): Promise<CommandAnswer> {
    const { files, upload, logger } = this.#deps;
    if (this.#uploads.has(id)) return { ok: false, code: 'busy', error: 'this recording is being sent' };
    if (this.#uploads.size >= MAX_UPLOADS)
      return { ok: false, code: 'busy', error: 'too many recordings of this host are being sent' };
    this.#uploads.add(id);
    let recording: OpenRecording | null = null;
    try {
      recording = await files.read(id);
    } catch (error) {
      logger.warn({ recording_id: id, error: errorText(error) }, 'recorder.files_failed');
    }
    if (recording === null) {
      this.#uploads.delete(id);
      return { ok: false, code: 'no_such_recording', error: 'this host has no such recording' };
    }
    const { file } = recording;
    void upload(id, recording)
      .catch((error) => logger.warn({ recording_id: id, error: errorText(error) }, 'recorder.upload_failed'))
      .finally(async () => {
        this.#uploads.delete(id);
        await file.close().catch(() => undefined);
      });
    return OK;
  }

  #boundFailed(): void {
    // Rings in the order in which their sessions began, which is close to the order of the failures.
    const failed = [...this.#sessions.values()].filter(({ removal }) => removal !== null);
    let bytes = failed.reduce((sum, { ring }) => sum + ring.bytes, 0);
    let count = failed.length;
    for (const { id, ring, removal } of failed) {
      if (bytes <= FAILED_RINGS_BYTES && count <= MAX_HOST_SESSIONS) return;
      removal?.cancel();
      this.#sessions.delete(id);
      bytes -= ring.bytes;
      count -= 1;
    }
  }
}

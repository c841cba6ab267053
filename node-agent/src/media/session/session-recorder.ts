import type { Writable } from 'node:stream';
import type { Codec } from '@footlight/protocol';
import type { AudioPacket } from '../encode/audio-pipeline.ts';
import type { EncodedFrame } from '../encode/video-pipeline.ts';
import { type CodedUnit, encodeRecord } from '../recording/stream-records.ts';
import { isKeyframe } from '../rtp/keyframe.ts';

/**
 * Largest number of bytes that wait until the agent reads them. If the agent stops reading, pictures are skipped until
 * the next keyframe.
 */
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;
/**
 * Longest time between two keyframes. The ring starts at a keyframe, so it loses at most a sixth of its minute. By
 * default, encoders make a keyframe every one to two seconds.
 */
const KEYFRAME_EVERY_MS = 10_000;
/** Largest number of sound packets that wait for a picture (2 s). A session without pictures is not worth recording. */
const MAX_SOUND = 200;

/**
 * Copies one session's encoded stream to the agent's ring, with one write per picture. Pictures that the agent does not
 * read in time are skipped, so the recorder never delays the session. Owner: the media session, which also owns the
 * pipe.
 */
export class SessionRecorder {
  readonly #pipe: Writable;
  readonly #codec: Codec;
  #sound: CodedUnit[] = [];
  /** Whether the recorder waits for a keyframe, because pictures before it cannot be decoded. */
  #waiting = true;
  /** null: there was no keyframe yet; every encoder begins with a keyframe. */
  #keyframeAtMs: number | null = null;

  constructor(pipe: Writable, codec: Codec) {
    this.#pipe = pipe;
    this.#codec = codec;
    // Errors are ignored: the pipe fails when the agent has ended, and then this process ends too.
    pipe.on('error', () => undefined);
  }

  sound({ packet, capturedAtMs }: AudioPacket): void {
    if (this.#sound.length >= MAX_SOUND) this.#sound.shift();
    this.#sound.push({ kind: 'sound', capturedAtMs, data: packet });
  }

  picture({ coded, packets, capturedAtMs }: EncodedFrame): void {
    const starts = isKeyframe(this.#codec, packets);
    if (starts) this.#keyframeAtMs = capturedAtMs;
    const sound = this.#sound;
    this.#sound = [];
    if (this.#pipe.writableLength > MAX_UNSENT_BYTES) this.#waiting = true;
    else if (starts) this.#waiting = false;
    if (this.#waiting || this.#pipe.destroyed) return;
    const picture = coded.map((data): CodedUnit => ({ kind: 'video', capturedAtMs, data }));
    this.#pipe.write(encodeRecord([...sound, ...picture], starts));
  }

  /** Whether the ring needs a keyframe. @param nowMs monotonic time */
  wantsKeyframe(nowMs: number): boolean {
    return this.#keyframeAtMs !== null && nowMs - this.#keyframeAtMs > KEYFRAME_EVERY_MS;
  }
}

import type { Writable } from 'node:stream';
import type { Codec } from '@footlight/protocol';
import type { AudioPacket } from '../encode/audio-pipeline.ts';
import type { EncodedFrame } from '../encode/video-pipeline.ts';
import { type CodedUnit, encodeRecord } from '../recording/stream-records.ts';
import { isKeyframe } from '../rtp/keyframe.ts';

/** Most unsent bytes to the agent. If the agent stops reading, pictures are skipped until the next keyframe. */
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;
/**
 * Longest time between two keyframes. The ring starts at a keyframe, so it loses at most a sixth of its minute.
 * Encoders make one every one to two seconds by default.
 */
const KEYFRAME_EVERY_MS = 10_000;
/** Most sound packets that wait for a picture (2 s). A session without pictures needs no recording. */
const MAX_SOUND = 200;

/**
 * Copies one session's encoded stream to the agent's ring, one write for each picture. It encodes nothing and never
 * waits: pictures that the agent does not read in time are skipped. Owner: the media session, which owns the pipe as
 * well.
 */
export class SessionRecorder {
  readonly #pipe: Writable;
  readonly #codec: Codec;
  #sound: CodedUnit[] = [];
  /** Pictures before the next keyframe cannot be decoded. */
  #waiting = true;
  /** null: there was none yet; every encoder begins with one. */
  #keyframeAtMs: number | null = null;

  constructor(pipe: Writable, codec: Codec) {
    this.#pipe = pipe;
    this.#codec = codec;
    // The pipe fails when the agent is gone, and this process then ends too.
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

  /** Whether the ring needs a keyframe. @param nowMs monotonic */
  wantsKeyframe(nowMs: number): boolean {
    return this.#keyframeAtMs !== null && nowMs - this.#keyframeAtMs > KEYFRAME_EVERY_MS;
  }
}

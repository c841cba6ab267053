import { FRAME_IDLE_PER_SECOND, FRAME_INPUT_PER_SECOND, type Frame } from '@footlight/protocol/input';

export interface FrameFacts {
  /** The timestamp in the packets that the viewer receives. */
  rtpTimestamp: number;
  capturedAtMs: number;
  captureWallMs: number;
  encodeMs: number | null;
}

/** Largest number of inputs that wait for a frame. Older inputs are never reported, which the protocol allows. */
const MAX_WAITING = 256;

/**
 * Finds the first frame that contains an input: captured after the input was injected. Pure. If the viewer requested
 * frame timing, every frame is reported. Otherwise only the first frame after an applied input is reported, and four
 * further frames a second. Reports after inputs are limited to 60 a second, so at higher frame rates a later frame may
 * report the input.
 *
 * The capture time is the start of the frame's slot, shortly before its pixels are read. So the pixels of a reported
 * frame were never read before the input.
 */
export class FrameTiming {
  /** Whether the viewer requested every frame. */
  everyFrame = false;
  #waiting: { seq: number; atMs: number }[] = [];
  #motionWaiting: { seq: number; atMs: number }[] = [];
  #input = { seq: 0, rtpTimestamp: 0 };
  /** Whether the first frame of an input was not reported yet. */
  #isUntold = false;
  #motionSeq = 0;
  #lastToldMs = Number.NEGATIVE_INFINITY;

  /** Records that an input message was injected. @param nowMs monotonic time */
  applied(lane: 'input' | 'motion', seq: number, nowMs: number): void {
    const waiting = lane === 'input' ? this.#waiting : this.#motionWaiting;
    waiting.push({ seq, atMs: nowMs });
    if (waiting.length > MAX_WAITING) waiting.shift();
  }

  /** @returns the report of this frame without seq and t; null: the frame is not reported */
  frame(facts: FrameFacts): Omit<Frame, 'kind' | 'seq' | 't'> | null {
    const input = takeThrough(this.#waiting, facts.capturedAtMs);
    if (input !== null) {
      this.#input = { seq: input, rtpTimestamp: facts.rtpTimestamp };
      this.#isUntold = true;
    }
    this.#motionSeq = takeThrough(this.#motionWaiting, facts.capturedAtMs) ?? this.#motionSeq;
    const sinceMs = facts.capturedAtMs - this.#lastToldMs;
    const dueMs = 1000 / (this.#isUntold ? FRAME_INPUT_PER_SECOND : FRAME_IDLE_PER_SECOND);
    // The tolerance is half a millisecond, because the time of a frame at 60 fps is not an integer.
    if (!this.everyFrame && sinceMs < dueMs - 0.5) return null;
    this.#lastToldMs = facts.capturedAtMs;
    this.#isUntold = false;
    return {
      rtp_timestamp: facts.rtpTimestamp,
      encode_ms: facts.encodeMs ?? 0,
      capture_ms: facts.captureWallMs,
      input_seq: this.#input.seq,
      input_rtp_timestamp: this.#input.rtpTimestamp,
      motion_seq: this.#motionSeq,
    };
  }
}

/** Removes the inputs that were applied up to a time. @returns the last of them; null: there were none */
function takeThrough(waiting: { seq: number; atMs: number }[], atMs: number): number | null {
  let last: number | null = null;
  while (waiting[0] && waiting[0].atMs <= atMs) last = waiting.shift()?.seq ?? last;
  return last;
}

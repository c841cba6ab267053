import { FRAME_IDLE_PER_SECOND, FRAME_INPUT_PER_SECOND, type Frame } from '@footlight/protocol/input';

/**
 * Which frame was the first to contain an input: injected before the frame was captured. Pure.
 * With frame timing on, every frame is told of; otherwise the first one after a newly applied input (at most 60
 * a second) and four a second besides.
 */

export interface FrameFacts {
  /** As the viewer sees it. */
  rtpTimestamp: number;
  capturedAtMs: number;
  captureWallMs: number;
  encodeMs: number | null;
}

/** Inputs waiting for a frame (count); older ones are never named, which viewers expect. */
const MAX_WAITING = 256;

export class FrameTiming {
  /** Whether the viewer asked for every frame. */
  everyFrame = false;
  #waiting: { seq: number; atMs: number }[] = [];
  #motionWaiting: { seq: number; atMs: number }[] = [];
  #input = { seq: 0, rtpTimestamp: 0 };
  #motionSeq = 0;
  #lastToldMs = Number.NEGATIVE_INFINITY;

  /** An input message was injected. */
  applied(lane: 'input' | 'motion', seq: number, nowMs: number): void {
    const waiting = lane === 'input' ? this.#waiting : this.#motionWaiting;
    waiting.push({ seq, atMs: nowMs });
    if (waiting.length > MAX_WAITING) waiting.shift();
  }

  /** @returns what to tell about this frame, without seq and t; null when it is passed over in silence */
  frame(facts: FrameFacts): Omit<Frame, 'kind' | 'seq' | 't'> | null {
    const input = takeThrough(this.#waiting, facts.capturedAtMs);
    if (input !== null) this.#input = { seq: input, rtpTimestamp: facts.rtpTimestamp };
    this.#motionSeq = takeThrough(this.#motionWaiting, facts.capturedAtMs) ?? this.#motionSeq;
    const sinceMs = facts.capturedAtMs - this.#lastToldMs;
    const dueMs = 1000 / (input === null ? FRAME_IDLE_PER_SECOND : FRAME_INPUT_PER_SECOND);
    // Half a millisecond of tolerance, because frame times of 60 fps are not whole.
    if (!this.everyFrame && sinceMs < dueMs - 0.5) return null;
    this.#lastToldMs = facts.capturedAtMs;
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

/** Removes what was applied at or before an instant. @returns the last of it, null when there is none */
function takeThrough(waiting: { seq: number; atMs: number }[], atMs: number): number | null {
  let last: number | null = null;
  while (waiting[0] && waiting[0].atMs <= atMs) last = waiting.shift()?.seq ?? last;
  return last;
}

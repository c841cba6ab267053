import { isNewerSeq } from '@footlight/protocol/input';
import { median } from '../numbers.ts';

/** Largest number of pending presses: half a second of very fast clicks. If there are more, the oldest are dropped. */
const MAX_PENDING = 64;
/**
 * Number of recorded frames: two seconds at 240 fps, because the host repeats a lost timing message only after a
 * quarter of a second.
 */
const MAX_FRAMES = 512;

/**
 * Measures the time from a press to the frame with its effect, in ms on this page's clock. Pure except for its own
 * state.
 *
 * A press is sent → named (the host's frame timing contains the RTP timestamp of the first frame with the press) →
 * shown (the callback of this frame, or of the next one, gives the display time). A press is not counted if no timing
 * message names it, or if its frame was dropped from the record before the message arrived. Nothing needs to be freed.
 * Call reset() for a new connection, and when the page is hidden, because a hidden page shows no frames.
 */
export class ClickToPhoton {
  /** seq → monotonic ms when it was sent */
  #sent = new Map<number, number>();
  /** presses whose frame is known but not shown yet */
  #named: { sentMs: number; rtp: number }[] = [];
  /** oldest first, at most MAX_FRAMES */
  #shown: { rtp: number; displayMs: number }[] = [];
  #results: number[] = [];

  /** A key or button went down. */
  press(seq: number, sentMs: number): void {
    this.#sent.set(seq, sentMs);
    if (this.#sent.size > MAX_PENDING) {
      const oldest = this.#sent.keys().next().value;
      if (oldest !== undefined) this.#sent.delete(oldest);
    }
  }

  /**
   * The host reports the first frame that it captured after it injected input `seq`; `rtp` is the RTP timestamp of
   * that frame.
   */
  contained(seq: number, rtp: number): void {
    const sentMs = this.#sent.get(seq);
    if (sentMs === undefined) return;
    this.#sent.delete(seq);
    const [oldest] = this.#shown;
    // The first frame with the press may have been shown before the oldest recorded frame, and dropped from the record.
    if (this.#shown.length === MAX_FRAMES && oldest && isNewerSeq(oldest.rtp, rtp)) return;
    const shown = this.#shown.find((frame) => !isNewerSeq(rtp, frame.rtp));
    if (shown !== undefined) this.#finish(sentMs, shown.displayMs);
    else if (this.#named.length < MAX_PENDING) this.#named.push({ sentMs, rtp });
  }

  /** A frame reaches the screen. */
  frame(rtp: number, displayMs: number): void {
    this.#shown.push({ rtp, displayMs });
    if (this.#shown.length > MAX_FRAMES) this.#shown.shift();
    if (this.#named.length === 0) return;
    this.#named = this.#named.filter((press) => {
      if (isNewerSeq(press.rtp, rtp)) return true;
      this.#finish(press.sentMs, displayMs);
      return false;
    });
  }

  /** Results of the current window; null: no press was completed. */
  take(): { click_to_photon_ms: number; click_to_photon_n: number } | null {
    const middle = median(this.#results);
    const n = this.#results.length;
    this.#results = [];
    return middle === null ? null : { click_to_photon_ms: middle, click_to_photon_n: n };
  }

  /** Drops pending presses; completed presses stay for the next take(). */
  reset(): void {
    this.#sent.clear();
    this.#named = [];
    this.#shown = [];
  }

  #finish(sentMs: number, displayMs: number): void {
    if (displayMs >= sentMs && this.#results.length < MAX_PENDING) this.#results.push(displayMs - sentMs);
  }
}

/** A compositor that keeps up shows a frame within three refreshes at 60 Hz. Chosen, not measured. */
const MAX_LEAD_MS = 50;
/** A frame is handed over a little after the refresh that shows it was due: one refresh at 60 Hz. */
const MIN_LEAD_MS = -17;
/** Until a plausible one was seen: the next refresh at 60 Hz is half of one away on average. */
const USUAL_LEAD_MS = 8;

/**
 * When shown frames reach the screen. Pure except for its own state.
 *
 * Chromium names the time of the next refresh. After its page was blocked and then hidden, that time was up to 3 s in
 * the future for a minute, and fell back in steps, while the screen showed each frame within 10 ms of its hand-over.
 * So a frame whose time is not plausible gets its hand-over and the last plausible distance to it.
 */
export class DisplayTime {
  #leadMs = USUAL_LEAD_MS;

  /**
   * @param submittedMs the browser handed the frame over (presentationTime), monotonic
   * @param expectedMs the browser's own guess (expectedDisplayTime)
   * @returns monotonic ms
   */
  of(submittedMs: number, expectedMs: number): number {
    const leadMs = expectedMs - submittedMs;
    if (leadMs < MIN_LEAD_MS || leadMs > MAX_LEAD_MS) return submittedMs + this.#leadMs;
    this.#leadMs = leadMs;
    return expectedMs;
  }
}

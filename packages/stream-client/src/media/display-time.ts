/**
 * Largest plausible time from hand-over to display: a compositor that is fast enough shows a frame within three
 * refreshes at 60 Hz. Chosen, not measured.
 */
const MAX_LEAD_MS = 50;
/**
 * Smallest plausible time: Chromium hands a frame over shortly after the refresh at which the frame was due. The
 * tolerance is one refresh at 60 Hz.
 */
const MIN_LEAD_MS = -17;
/** Time used before the first plausible value: the next refresh at 60 Hz is half a refresh away on average. */
const USUAL_LEAD_MS = 8;

/**
 * Decides when shown frames reach the screen. Pure except for its own state.
 *
 * Chromium reports the time of the next refresh. For a minute after a page was blocked and then hidden, this time was
 * up to 3 s in the future, and fell back in steps, although the screen showed each frame within 10 ms of its hand-over.
 * So an implausible time is replaced by the hand-over plus the last plausible distance.
 */
export class DisplayTime {
  #leadMs = USUAL_LEAD_MS;

  /**
   * @param submittedMs the browser handed the frame over (presentationTime), monotonic
   * @param expectedMs the browser's estimate of the display time (expectedDisplayTime)
   * @returns monotonic ms
   */
  of(submittedMs: number, expectedMs: number): number {
    const leadMs = expectedMs - submittedMs;
    if (leadMs < MIN_LEAD_MS || leadMs > MAX_LEAD_MS) return submittedMs + this.#leadMs;
    this.#leadMs = leadMs;
    return expectedMs;
  }
}

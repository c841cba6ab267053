/** View and Menu (Select and Start), by the standard mapping. */
const TOGETHER = (1 << 8) | (1 << 9);
/** The guide button in the middle of the pad, which some systems do not report to browsers. */
const GUIDE = 1 << 16;
/** Time that View and Menu must be held. Games need the two buttons for a shorter time. Chosen, not measured. */
const HOLD_MS = 1000;

/**
 * Detects that the person requests the page's controls on one pad: by the guide button, or by View and Menu held
 * together.
 */
export class MenuPress {
  #togetherSinceMs: number | null = null;
  #asked = false;

  /**
   * @param buttons of the standard mapping, one bit each
   * @returns true once for each press
   */
  read(buttons: number, nowMs: number): boolean {
    const together = (buttons & TOGETHER) === TOGETHER;
    this.#togetherSinceMs = together ? (this.#togetherSinceMs ?? nowMs) : null;
    const held = this.#togetherSinceMs !== null && nowMs - this.#togetherSinceMs >= HOLD_MS;
    const asks = (buttons & GUIDE) !== 0 || held;
    const begins = asks && !this.#asked;
    this.#asked = asks;
    return begins;
  }
}

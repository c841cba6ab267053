/** View and Menu (Select and Start), by the standard mapping. */
const TOGETHER = (1 << 8) | (1 << 9);
/** The button in the middle, which some systems do not pass to browsers. */
const GUIDE = 1 << 16;
/** Longer than games expect both buttons to be held. Chosen, not measured. */
const HOLD_MS = 1000;

/** Whether one pad requests the page's controls: its guide button, or View and Menu held together. */
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

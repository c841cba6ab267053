import type { CDPSession, Page } from 'playwright-core';

type Place = readonly [x: number, y: number];

/** Fingers on a page, as events of its touch screen. */
export class Fingers {
  readonly #cdp: CDPSession;

  private constructor(cdp: CDPSession) {
    this.#cdp = cdp;
  }

  static async on(page: Page): Promise<Fingers> {
    return new Fingers(await page.context().newCDPSession(page));
  }

  /**
   * Puts fingers down, several at the same time.
   * @param places positions of all fingers that are down afterwards
   */
  async down(...places: Place[]): Promise<void> {
    await this.#send('touchStart', places);
  }

  async move(...places: Place[]): Promise<void> {
    await this.#send('touchMove', places);
  }

  /**
   * Lifts all fingers except some.
   * @param places positions of the fingers that stay down
   */
  async up(...places: Place[]): Promise<void> {
    await this.#send('touchEnd', places);
  }

  /**
   * Puts all fingers down and lifts them without a pause. On a busy machine a pause could make the tap a long press, or
   * separate the two taps of a double tap.
   */
  async tap(...places: Place[]): Promise<void> {
    await Promise.all([this.down(...places), this.up()]);
  }

  /** Moves in steps from some positions to others while the fingers stay down. */
  async drag(from: Place[], to: Place[], steps = 8): Promise<void> {
    await this.down(...from);
    for (let n = 1; n <= steps; n++)
      await this.move(
        ...from.map(([x, y], finger): Place => {
          const [toX = x, toY = y] = to[finger] ?? [];
          return [x + ((toX - x) * n) / steps, y + ((toY - y) * n) / steps];
        }),
      );
  }

  /** Sets the text that an input method shows while a person composes a word. */
  async compose(text: string): Promise<void> {
    await this.#cdp.send('Input.imeSetComposition', {
      text,
      selectionStart: text.length,
      selectionEnd: text.length,
    });
  }

  /** Inserts text as a phone's keyboard does. */
  async insert(text: string): Promise<void> {
    await this.#cdp.send('Input.insertText', { text });
  }

  async #send(type: 'touchStart' | 'touchMove' | 'touchEnd', places: readonly Place[]): Promise<void> {
    const touchPoints = places.map(([x, y], id) => ({ x, y, id }));
    await this.#cdp.send('Input.dispatchTouchEvent', { type, touchPoints });
  }
}

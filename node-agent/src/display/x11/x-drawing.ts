import type { XDamage, XEvent } from 'x11';
import type { XConnection } from './x-connection.ts';

/** An app that is not done with a picture after this long is not waited for, milliseconds. Chosen. */
const SETTLE_MS = 4;
/** Pictures in a row, each whole after the first look, after which the app is taken to send whole ones (count). Chosen. */
const WHOLE_PICTURES = 32;
/** One in this many of such an app is looked at all the same. Chosen. */
const CHECKED_EVERY = 8;

/**
 * Tells when an app has drawn a picture.
 *
 * idle → (next) → waiting, with a damage object at the server → idle again with rest(). Owner: the session's screen;
 * the connection is the screen's, and the server frees the object with it. Source: the DAMAGE extension, level
 * NonEmpty: one event, and no further one before it is answered, however much is drawn.
 */
export class XDrawing {
  readonly #x: XConnection;
  readonly #extension: XDamage;
  /** null: idle. */
  #damage: number | null = null;
  /** Whether there is an event without an answer. */
  #isDrawn = false;
  /** Pictures since the last that came in several writes (count). */
  #whole = 0;
  #onDrawn: () => void = () => undefined;

  private constructor(x: XConnection, extension: XDamage) {
    this.#x = x;
    this.#extension = extension;
    x.client.on('event', (event: XEvent) => {
      if (event.type !== extension.firstEvent || event.damage !== this.#damage) return;
      this.#isDrawn = true;
      this.#onDrawn();
    });
    x.client.on('end', () => this.#onDrawn());
  }

  /** @throws when the display has no DAMAGE */
  static async open(x: XConnection): Promise<XDrawing> {
    return new XDrawing(x, await x.request<XDamage>((callback) => x.client.require('damage', callback)));
  }

  /**
   * Waits until something is drawn that was not told before. A picture that the app sends in several writes is told
   * once when they follow closely: the server's answer shows whether more has come. An app that always sends whole
   * pictures is asked for rarely, because the answer wakes this process once more for each picture (docs/development.md,
   * "Benches").
   * @returns false: the display is closed. Never throws
   */
  async next(): Promise<boolean> {
    const { client, clock, root } = this.#x;
    if (this.#x.closed) return false;
    if (this.#damage === null) {
      this.#damage = client.AllocID();
      this.#extension.Create(this.#damage, root, this.#extension.ReportLevel.NonEmpty);
    }
    if (!this.#isDrawn) {
      await new Promise<void>((resolve) => {
        this.#onDrawn = resolve;
      });
    }
    const fromMs = clock.monotonicMs();
    while (this.#isDrawn && clock.monotonicMs() - fromMs < SETTLE_MS) {
      this.#isDrawn = false;
      if (this.#x.closed) return false;
      this.#extension.Subtract(this.#damage, 0, 0);
      this.#whole += 1;
      if (this.#whole > WHOLE_PICTURES && this.#whole % CHECKED_EVERY !== 0) return true;
      // The server takes what one client has sent before it turns to the next, so its answer follows the app's batch.
      try {
        await this.#x.settle();
      } catch {
        return false;
      }
      if (this.#isDrawn) this.#whole = 0;
    }
    return true;
  }

  /** Draws wake this process no more until the next call of next(). Do not call it while one waits. */
  rest(): void {
    if (this.#damage !== null && !this.#x.closed) this.#extension.Destroy(this.#damage);
    this.#damage = null;
    this.#isDrawn = false;
  }
}

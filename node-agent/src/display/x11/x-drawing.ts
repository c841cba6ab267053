import type { XDamage, XEvent } from 'x11';
import type { XConnection } from './x-connection.ts';

/** An app that is not done with a picture after this long is not waited for, milliseconds. Chosen. */
const SETTLE_MS = 4;

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
   * Waits until something is drawn that was not told before, and until the server has carried out what the app had
   * sent by then. A picture that the app sends in several writes is told once when they follow closely.
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
      // The server takes what one client has sent before it turns to the next, so its answer follows the app's batch.
      try {
        await this.#x.settle();
      } catch {
        return false;
      }
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

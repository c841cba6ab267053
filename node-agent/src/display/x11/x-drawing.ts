import type { XDamage, XEvent } from 'x11';
import type { XConnection } from './x-connection.ts';

/** Longest wait for the remaining writes of a picture, in milliseconds. Chosen, not measured. */
const SETTLE_MS = 4;
/**
 * Number of consecutive pictures that each arrived in one write, after which the app is assumed to send only whole
 * pictures. Chosen, not measured.
 */
const WHOLE_PICTURES = 32;
/**
 * If an app sends whole pictures, only one of this many pictures is checked for further writes. Chosen, not measured.
 */
const CHECKED_EVERY = 8;

/**
 * Detects when an app has drawn a picture.
 *
 * idle → (next) → waiting, with a damage object at the server → (rest) → idle. Owner: the session's screen, which also
 * owns the connection; the server frees the damage object with the connection. Source: the DAMAGE extension, level
 * NonEmpty: after one event the server sends no further event until the client answers (Subtract), however much is
 * drawn.
 */
export class XDrawing {
  readonly #x: XConnection;
  readonly #extension: XDamage;
  /** null: idle, so the server has no damage object. */
  #damage: number | null = null;
  /** Whether an event was received and not answered yet. */
  #isDrawn = false;
  /** Number of pictures since the last one that arrived in several writes. */
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
   * Waits for drawing that was not reported before. If an app sends a picture in several writes shortly after each
   * other, the picture is reported once: a round trip to the server shows whether more was drawn. For an app that sends
   * whole pictures, the round trip is made rarely, because it wakes this process once more per picture
   * (docs/development.md, "Benches").
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
      // The server processes all pending requests of one client before the next client's requests. So its answer
      // arrives after the app's whole batch was processed.
      try {
        await this.#x.settle();
      } catch {
        return false;
      }
      if (this.#isDrawn) this.#whole = 0;
    }
    return true;
  }

  /**
   * Removes the damage object, so that drawing does not wake this process until the next call of next(). Do not call it
   * while a call of next() is pending.
   */
  rest(): void {
    if (this.#damage !== null && !this.#x.closed) this.#extension.Destroy(this.#damage);
    this.#damage = null;
    this.#isDrawn = false;
  }
}

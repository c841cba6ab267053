import type { XDamage, XEvent } from 'x11';
import type { XConnection } from './x-connection.ts';

/** Longest wait for the remaining writes of a picture, milliseconds. Chosen. */
const SETTLE_MS = 4;
/**
 * Consecutive pictures that arrived in one write, after which the app is assumed to send only whole pictures (count).
 * Chosen.
 */
const WHOLE_PICTURES = 32;
/** For an app that sends whole pictures, only one in this many is checked for further writes. Chosen. */
const CHECKED_EVERY = 8;

/**
 * Detects when an app has drawn a picture.
 *
 * idle → (next) → waiting, with a damage object at the server → idle again with rest(). Owner: the session's screen,
 * which also owns the connection; the server frees the damage object with the connection. Source: the DAMAGE extension,
 * level NonEmpty: after one event the server sends no further event until the client answers (Subtract), however much
 * is drawn.
 */
export class XDrawing {
  readonly #x: XConnection;
  readonly #extension: XDamage;
  /** null: idle. */
  #damage: number | null = null;
  /** Whether an event was received and not answered yet. */
  #isDrawn = false;
  /** Pictures since the last one that came in several writes (count). */
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
   * Waits until something is drawn that was not reported before. A picture that the app sends in several close writes
   * is reported once: a round trip to the server shows whether more has arrived. If an app always sends whole pictures,
   * the round trip is made rarely, because it costs one more wake-up of this process per picture (docs/development.md,
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
      // The server processes all pending requests of one client before the next client's, so its answer follows the
      // app's batch.
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
   * From now until the next call of next(), drawing does not wake this process. Do not call it while a next() is
   * pending.
   */
  rest(): void {
    if (this.#damage !== null && !this.#x.closed) this.#extension.Destroy(this.#damage);
    this.#damage = null;
    this.#isDrawn = false;
  }
}

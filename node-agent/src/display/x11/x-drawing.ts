import { delay } from '@footlight/platform';
import type { XDamage, XEvent } from 'x11';
import type { XConnection } from './x-connection.ts';

/** Draws read in one window (count): an app that draws line by line gets no more of the worker's time. */
const MAX_DRAWS = 256;

/**
 * The times at which anything is drawn on the display, read in short windows, because each draw wakes this process.
 * Owner: the session's screen; the connection is the screen's. Source: the DAMAGE extension, level NonEmpty.
 */
export class XDrawing {
  readonly #x: XConnection;
  readonly #damage: XDamage;

  private constructor(x: XConnection, damage: XDamage) {
    this.#x = x;
    this.#damage = damage;
  }

  /** @throws when the display has no DAMAGE */
  static async open(x: XConnection): Promise<XDrawing> {
    return new XDrawing(x, await x.request<XDamage>((callback) => x.client.require('damage', callback)));
  }

  /**
   * Watches for this long.
   * @returns the times of the draws, monotonic milliseconds, oldest first; an incomplete list counts as none
   */
  async watch(durationMs: number): Promise<number[]> {
    const { client, clock, root } = this.#x;
    if (this.#x.closed) return [];
    const drawnAtMs: number[] = [];
    const damage = client.AllocID();
    const onEvent = (event: XEvent) => {
      if (event.type !== this.#damage.firstEvent || event.damage !== damage) return;
      drawnAtMs.push(clock.monotonicMs());
      // Without this there is no further event.
      if (drawnAtMs.length < MAX_DRAWS) this.#damage.Subtract(damage, 0, 0);
    };
    client.on('event', onEvent);
    this.#damage.Create(damage, root, this.#damage.ReportLevel.NonEmpty);
    await delay(clock, durationMs);
    client.removeListener('event', onEvent);
    if (!this.#x.closed) this.#damage.Destroy(damage);
    return drawnAtMs.length < MAX_DRAWS ? drawnAtMs : [];
  }
}

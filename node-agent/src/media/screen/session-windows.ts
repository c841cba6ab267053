import type { Clock, Timer } from '@footlight/platform';
import { XConnection } from '../../display/x11/x-connection.ts';
import type { ScreenSize } from '../../display/x11/x-screen.ts';
import { type ShownWindow, XWindows } from '../../display/x11/x-windows.ts';
import { WindowFit } from './window-fit.ts';

export interface SessionWindowsOptions {
  /** X display such as ":7". */
  display: string;
  clock: Clock;
  /** Size of the display without a window's size. */
  base(): ScreenSize;
  /** The number of shown windows changed. */
  onCount(count: number): void;
  /** Target size of the display; null: its own. May repeat a value. */
  onFit(size: ScreenSize | null): void;
}

/**
 * Follows the windows of a session's apps and decides when the display takes a window's size.
 *
 * opening → following → closed. Owns the windows' connection and one timer; close() frees both, also while it opens.
 */
export class SessionWindows {
  readonly #options: SessionWindowsOptions;
  readonly #rule = new WindowFit();
  #windows: XWindows | null = null;
  /** null: not read yet. */
  #shown: readonly ShownWindow[] | null = null;
  #timer: Timer | null = null;
  #closed = false;

  constructor(options: SessionWindowsOptions) {
    this.#options = options;
  }

  /** @throws when the display refuses another connection */
  async open(): Promise<void> {
    // The session's other connection reports a lost display.
    const x = await XConnection.open(this.#options.display, this.#options.clock, () => undefined);
    const windows = await XWindows.open(x, (shown) => {
      if (shown.length !== this.#shown?.length) this.#options.onCount(shown.length);
      this.#shown = shown;
      this.#decide();
    });
    if (this.#closed) windows.close();
    else this.#windows = windows;
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#windows?.close();
  }

  #decide(): void {
    if (this.#closed) return;
    this.#timer?.cancel();
    this.#timer = null;
    const { base, clock, onFit } = this.#options;
    const nowMs = clock.monotonicMs();
    const { fit, againAtMs } = this.#rule.decide(this.#shown ?? [], base(), nowMs);
    if (againAtMs !== null) this.#timer = clock.setTimeout(() => this.#decide(), againAtMs - nowMs);
    onFit(fit);
  }
}

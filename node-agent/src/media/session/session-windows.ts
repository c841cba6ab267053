import { XConnection } from '../../display/x11/x-connection.ts';
import type { ScreenSize } from '../../display/x11/x-screen.ts';
import { type ShownWindow, XWindows } from '../../display/x11/x-windows.ts';
import { WindowFit } from './window-fit.ts';

export interface SessionWindowsOptions {
  /** X display such as ":7". */
  display: string;
  monotonicMs(): number;
  /** Size of the display without a window's size. */
  base(): ScreenSize;
  /** The number of shown windows changed. */
  onCount(count: number): void;
  /** Target size of the display; null: its own. May repeat a value. */
  onFit(size: ScreenSize | null): void;
}

/** Follows the windows of a session's apps and decides when the display takes a window's size. */
export class SessionWindows {
  readonly #options: SessionWindowsOptions;
  readonly #rule = new WindowFit();
  #windows: XWindows | null = null;
  /** null: not read yet. */
  #shown: readonly ShownWindow[] | null = null;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: SessionWindowsOptions) {
    this.#options = options;
  }

  /** @throws when the display refuses another connection */
  async open(): Promise<void> {
    // The session's other connection reports a lost display.
    const x = await XConnection.open(this.#options.display, () => undefined);
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
    if (this.#timer) clearTimeout(this.#timer);
    this.#windows?.close();
  }

  #decide(): void {
    if (this.#closed) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const { base, monotonicMs, onFit } = this.#options;
    const nowMs = monotonicMs();
    const { fit, againAtMs } = this.#rule.decide(this.#shown ?? [], base(), nowMs);
    if (againAtMs !== null) this.#timer = setTimeout(() => this.#decide(), againAtMs - nowMs);
    onFit(fit);
  }
}

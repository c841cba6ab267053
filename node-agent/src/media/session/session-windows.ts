import { XConnection } from '../../display/x11/x-connection.ts';
import type { ScreenSize } from '../../display/x11/x-screen.ts';
import { type ShownWindow, XWindows } from '../../display/x11/x-windows.ts';
import { WindowFit } from './window-fit.ts';

export interface SessionWindowsOptions {
  /** Such as ":7". */
  display: string;
  monotonicMs(): number;
  /** Size of the display while no window has changed it. */
  base(): ScreenSize;
  /** Another number of windows is shown. */
  onCount(count: number): void;
  /** The display is to have the size of a window; null: its own. May be told the same again. */
  onFit(size: ScreenSize | null): void;
}

/** Follows the windows of a session's apps, and says when the display should take the size of one of them. */
export class SessionWindows {
  readonly #options: SessionWindowsOptions;
  readonly #rule = new WindowFit();
  #windows: XWindows | null = null;
  /** null: nobody has looked yet. */
  #shown: readonly ShownWindow[] | null = null;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: SessionWindowsOptions) {
    this.#options = options;
  }

  /** @throws when the display refuses another connection */
  async open(): Promise<void> {
    // A display that goes away is reported by the session's other connection.
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

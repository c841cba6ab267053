import type { Clock, Timer } from '@footlight/platform';
import { type AppWindow, MAX_WINDOWS_LISTED, WINDOWS_PER_SECOND } from '@footlight/protocol/input';
import { XConnection } from '../../display/x11/x-connection.ts';
import type { ScreenSize } from '../../display/x11/x-screen.ts';
import { type NamedWindow, XWindows } from '../../display/x11/x-windows.ts';
import { WindowFit } from './window-fit.ts';

export interface SessionWindowsOptions {
  /** X display such as ":7". */
  display: string;
  clock: Clock;
  /** The display's own size, which it has without a window of a fixed size. */
  base(): ScreenSize;
  /** Called when the number of shown windows changed. */
  onCount(count: number): void;
  /**
   * Called after a change of the list of windows that a person can choose; at most WINDOWS_PER_SECOND times a second.
   */
  onList(windows: readonly AppWindow[]): void;
  /** Called with the target size of the display; null: its own size. The same size may be passed again. */
  onFit(size: ScreenSize | null): void;
}

const LIST_PERIOD_MS = 1_000 / WINDOWS_PER_SECOND;

/**
 * Watches the windows of a session's apps, lists them for viewers, and decides when the display adopts a window's size.
 *
 * opening → following → closed. Owns the windows' connection and two timers; close() frees them, even while open() is
 * running.
 */
export class SessionWindows {
  readonly #options: SessionWindowsOptions;
  readonly #rule = new WindowFit();
  #windows: XWindows | null = null;
  /** null: the windows were not read yet. */
  #shown: readonly NamedWindow[] | null = null;
  #list: readonly AppWindow[] = [];
  #listTimer: Timer | null = null;
  #listedAtMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | null = null;
  #closed = false;

  constructor(options: SessionWindowsOptions) {
    this.#options = options;
  }

  /** @throws when the display refuses another connection */
  async open(): Promise<void> {
    // Its loss is ignored, because the session's other connection reports a lost display.
    const x = await XConnection.open(this.#options.display, this.#options.clock, () => undefined);
    const windows = await XWindows.open(x, (shown) => {
      if (shown.length !== this.#shown?.length) this.#options.onCount(shown.length);
      this.#shown = shown;
      this.#listSoon();
      this.#decide();
    });
    if (this.#closed) windows.close();
    else this.#windows = windows;
  }

  /** The list that was last passed to onList. */
  get list(): readonly AppWindow[] {
    return this.#list;
  }

  /** Raises and focuses a window of the list; an unknown id is ignored. */
  use(id: number): void {
    if (this.#list.some((window) => window.id === id)) this.#windows?.use(id);
  }

  close(): void {
    this.#closed = true;
    this.#listTimer?.cancel();
    this.#timer?.cancel();
    this.#windows?.close();
  }

  #listSoon(): void {
    if (this.#closed || this.#listTimer) return;
    const { clock } = this.#options;
    const waitMs = this.#listedAtMs + LIST_PERIOD_MS - clock.monotonicMs();
    if (waitMs > 0) this.#listTimer = clock.setTimeout(() => this.#tell(), waitMs);
    else this.#tell();
  }

  #tell(): void {
    this.#listTimer = null;
    const list = (this.#shown ?? [])
      .slice(0, MAX_WINDOWS_LISTED)
      .map(({ id, title, active }): AppWindow => ({ id, title, active }));
    if (this.#closed || JSON.stringify(list) === JSON.stringify(this.#list)) return;
    this.#list = list;
    this.#listedAtMs = this.#options.clock.monotonicMs();
    this.#options.onList(list);
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

import type { Display } from '@footlight/protocol/input';
import type { AgentMetrics } from '@footlight/protocol/telemetry';
import type { ScreenSize } from '../../display/x11/x-screen.ts';
import type { DisplayUpdate } from '../worker/worker-messages.ts';

/** Functions that a change of sizes calls. */
export interface SessionDisplayDeps {
  /** Changes the screen while its capture is stopped. */
  resizeScreen(size: ScreenSize): Promise<void>;
  /** Current size of the screen; null: there is no screen yet. */
  screenSize(): Promise<ScreenSize | null>;
  setScale(scale: number): Promise<void>;
  /** Applies `picture` to the encoder; null: this encoder cannot resize while it runs. */
  resizePicture: (() => void) | null;
}

interface Sizes {
  render: ScreenSize;
  scale: number;
  pinned: ScreenSize | null;
}

/**
 * The sizes of one session's display and picture.
 *
 * Rate control decides the picture's size (auto), until another size than the launch size is requested. The requested
 * size is then pinned. A request for the launch size unpins it.
 *
 * While an app shows only a window of a fixed size, the display has the window's size (`fitTo`). The picture then has
 * this size too, if no size is pinned. Afterwards the display's own size is restored.
 */
export class SessionDisplay {
  readonly #launch: ScreenSize;
  readonly #deps: SessionDisplayDeps;
  /** Current size of the display. */
  #render: ScreenSize;
  /** The display's own size, which it has without a window of a fixed size. */
  #base: ScreenSize;
  /** Window size that the display has adopted; null: the display has its own size. */
  #fit: ScreenSize | null = null;
  #scale = 1;
  /** Pinned size of the picture; null: auto. */
  #pinned: ScreenSize | null = null;
  /** Number of the newest change that was withdrawn. */
  #withdrawn = -1;
  /** The newest change that was made, with the sizes before it. */
  #made: { update: DisplayUpdate; before: Sizes } | null = null;

  constructor(launch: ScreenSize, deps: SessionDisplayDeps) {
    this.#launch = launch;
    this.#render = launch;
    this.#base = launch;
    this.#deps = deps;
  }

  /** Sets the display's own size, for example the size of a console. */
  found(size: ScreenSize): void {
    this.#render = size;
    this.#base = size;
  }

  /** The display's own size, which it has without a window of a fixed size. */
  get base(): ScreenSize {
    return this.#base;
  }

  get render(): ScreenSize {
    return this.#render;
  }

  /** Size of the picture that was requested, or that a window of a fixed size has; null: rate control decides. */
  get picture(): ScreenSize | null {
    return this.#pinned ?? (this.#deps.resizePicture === null ? null : this.#fit);
  }

  /**
   * Sets the display to a window's size or to its own size; serialized with apply().
   * @param size size of the window; null: the display's own size
   * @returns whether a size changed
   * @throws when the display refuses the size; the display then has its own size
   */
  async fitTo(size: ScreenSize | null): Promise<boolean> {
    if (isSame(size ?? this.#base, this.#fit ?? this.#base)) return false;
    this.#fit = size;
    try {
      await this.#deps.resizeScreen(size ?? this.#base);
      this.#render = size ?? this.#base;
      return true;
    } catch (error) {
      this.#fit = null;
      await this.#resizeBack(this.#base);
      throw error;
    } finally {
      this.#deps.resizePicture?.();
    }
  }

  /**
   * Applies a change; changes are serialized.
   * @throws when the change fails or is withdrawn; then all sizes are restored
   */
  async apply(update: DisplayUpdate): Promise<void> {
    const { request, render, ui_scale, stream } = update;
    this.#refuseWithdrawn(request);
    if (stream && this.#deps.resizePicture === null)
      throw new Error('this encoder cannot change its size while it runs');
    if (render && this.#fit && !isSame(render, this.#fit))
      throw new Error('the display has the size of a window that has no other');
    const before: Sizes = { render: this.#base, scale: this.#scale, pinned: this.#pinned };
    try {
      if (render && !isSame(render, this.#render)) await this.#deps.resizeScreen(render);
      this.#refuseWithdrawn(request);
      if (ui_scale !== undefined) await this.#deps.setScale(ui_scale);
      this.#refuseWithdrawn(request);
    } catch (error) {
      await this.#goBack(before, update);
      throw error;
    }
    this.#render = render ?? this.#render;
    if (render && !this.#fit) this.#base = render;
    this.#scale = ui_scale ?? this.#scale;
    this.#made = { update, before };
    if (stream) this.#pin(isSame(stream, this.#launch) ? null : stream);
  }

  /** Withdraws a change: if it is waiting, it is not started; if it is running, it is undone. */
  withdraw(request: number): void {
    this.#withdrawn = Math.max(this.#withdrawn, request);
  }

  /**
   * Undoes a change that was made before its withdrawal; serialized with apply().
   * @returns false: this change was not made, or another change followed
   */
  async undo(request: number): Promise<boolean> {
    if (this.#made?.update.request !== request) return false;
    const { update, before } = this.#made;
    this.#made = null;
    await this.#goBack(before, update);
    this.#scale = before.scale;
    if (update.stream) this.#pin(before.pinned);
    return true;
  }

  /** Restores all sizes. Never throws: if the screen cannot be restored, its actual size is used from now on. */
  async #goBack(before: Sizes, { render, ui_scale }: DisplayUpdate): Promise<void> {
    if (render) {
      if (this.#fit) this.#base = before.render;
      else await this.#resizeBack(before.render);
    }
    if (ui_scale !== undefined) await this.#deps.setScale(before.scale).catch(() => undefined);
  }

  /** Never throws. */
  async #resizeBack(size: ScreenSize): Promise<void> {
    await this.#deps.resizeScreen(size).catch(() => undefined);
    this.#base = (await this.#deps.screenSize().catch(() => null)) ?? size;
    this.#render = this.#base;
  }

  #pin(size: ScreenSize | null): void {
    this.#pinned = size;
    this.#deps.resizePicture?.();
  }

  /**
   * @throws when the change was withdrawn. Numbers of changes increase, so all changes up to #withdrawn are done or
   * withdrawn
   */
  #refuseWithdrawn(request: number): void {
    if (request <= this.#withdrawn) throw new Error('the change was withdrawn');
  }

  /** The sizes, as a message for viewers. @param picture the picture's current size */
  message(picture: ScreenSize): Display {
    return {
      type: 'display',
      render_width: this.#render.width,
      render_height: this.#render.height,
      ui_scale: this.#scale,
      stream_width: picture.width,
      stream_height: picture.height,
      owner: this.#pinned ? 'pinned' : 'auto',
    };
  }

  /** The sizes for a sample of metrics; only those that differ from the launch sizes. */
  metrics(): AgentMetrics {
    const metrics: AgentMetrics = {
      external_owner: this.#pinned ? 'pinned' : 'auto',
      external_resize_supported: this.#deps.resizePicture !== null,
    };
    if (!isSame(this.#render, this.#launch)) {
      metrics.render_width = this.#render.width;
      metrics.render_height = this.#render.height;
    }
    if (this.#scale !== 1) metrics.ui_scale = this.#scale;
    const { picture } = this;
    if (picture) {
      metrics.stream_width = picture.width;
      metrics.stream_height = picture.height;
    }
    return metrics;
  }

  /**
   * Maps a point of the picture to the display. The point is in pixels of the launch size, as viewers send it. If the
   * display has another aspect ratio, the picture has bars; a point on a bar is mapped to the nearest point of the
   * display.
   */
  toDisplay(x: number, y: number): { x: number; y: number } {
    const picture = this.picture ?? this.#launch;
    const shown = { width: this.#render.width / picture.width, height: this.#render.height / picture.height };
    const scale = Math.max(shown.width, shown.height);
    if (scale === 0) return { x, y };
    return {
      x: along(x, this.#launch.width, shown.width / scale, this.#render.width),
      y: along(y, this.#launch.height, shown.height / scale, this.#render.height),
    };
  }
}

/** @param share part of the picture's side that the display fills, centred */
function along(at: number, side: number, share: number, pixels: number): number {
  const inPicture = side > 1 ? at / (side - 1) : 0;
  const inDisplay = Math.min(1, Math.max(0, (inPicture - (1 - share) / 2) / share));
  return Math.round(inDisplay * (pixels - 1));
}

function isSame(a: ScreenSize, b: ScreenSize): boolean {
  return a.width === b.width && a.height === b.height;
}

import type { Display } from '@footlight/protocol/input';
import type { ScreenSize } from '../../display/x11/x-screen.ts';
import type { DisplayUpdate } from '../worker/worker-messages.ts';

/** What a change of sizes needs of the world. */
export interface DisplayWorld {
  /** Changes the screen while nothing is captured from it. */
  resizeScreen(size: ScreenSize): Promise<void>;
  /** Size of the screen; null: there is none yet. */
  screenSize(): Promise<ScreenSize | null>;
  setScale(scale: number): Promise<void>;
  /** Makes the picture what `picture` says now; null: this encoder cannot change its size while it runs. */
  resizePicture: (() => void) | null;
}

interface Sizes {
  render: ScreenSize;
  scale: number;
  pinned: ScreenSize | null;
}

/**
 * Sizes of one session: of the display that the app draws on, and of the picture that viewers get.
 *
 * The picture's size belongs to the rate control (auto) until somebody asks for another one than the launch size, which
 * pins it; the launch size gives it back.
 *
 * While an app shows nothing but a window of a fixed size, the display has that size (`fitTo`), and so has the picture,
 * unless it is pinned. The display's own size waits until then.
 */
export class SessionDisplay {
  readonly #launch: ScreenSize;
  readonly #world: DisplayWorld;
  /** Size of the display. */
  #render: ScreenSize;
  /** Size of the display while no window has changed it. */
  #base: ScreenSize;
  /** Size that the display has of a window; null: it has its own. */
  #fit: ScreenSize | null = null;
  #scale = 1;
  /** null: auto. */
  #pinned: ScreenSize | null = null;
  /** The newest change that was withdrawn, by its number. */
  #withdrawn = -1;
  /** The newest change that was made, and what was there before it. */
  #made: { update: DisplayUpdate; before: Sizes } | null = null;

  constructor(launch: ScreenSize, world: DisplayWorld) {
    this.#launch = launch;
    this.#render = launch;
    this.#base = launch;
    this.#world = world;
  }

  /** The display may have a size of its own, as one that is plugged into the host has. */
  found(size: ScreenSize): void {
    this.#render = size;
    this.#base = size;
  }

  /** Size of the display while no window has changed it. */
  get base(): ScreenSize {
    return this.#base;
  }

  get render(): ScreenSize {
    return this.#render;
  }

  /** Size of the picture that somebody asked for, or that a window's display gives it; null: the rate control chooses. */
  get picture(): ScreenSize | null {
    return this.#pinned ?? (this.#world.resizePicture === null ? null : this.#fit);
  }

  /**
   * Gives the display the size of a window, or its own again; one after the other, in turn with apply().
   * @param size null: its own
   * @returns whether anything has changed
   * @throws when the display does not take it; it has its own size then
   */
  async fitTo(size: ScreenSize | null): Promise<boolean> {
    if (isSame(size ?? this.#base, this.#fit ?? this.#base)) return false;
    this.#fit = size;
    try {
      await this.#world.resizeScreen(size ?? this.#base);
      this.#render = size ?? this.#base;
      return true;
    } catch (error) {
      this.#fit = null;
      await this.#resizeBack(this.#base);
      throw error;
    } finally {
      this.#world.resizePicture?.();
    }
  }

  /** One after the other. @throws when it cannot be done or is withdrawn; everything is as it was then */
  async apply(update: DisplayUpdate): Promise<void> {
    const { request, render, ui_scale, stream } = update;
    this.#refuseWithdrawn(request);
    if (stream && this.#world.resizePicture === null)
      throw new Error('this encoder cannot change its size while it runs');
    if (render && this.#fit && !isSame(render, this.#fit))
      throw new Error('the display has the size of a window that has no other');
    const before: Sizes = { render: this.#base, scale: this.#scale, pinned: this.#pinned };
    try {
      if (render && !isSame(render, this.#render)) await this.#world.resizeScreen(render);
      this.#refuseWithdrawn(request);
      if (ui_scale !== undefined) await this.#world.setScale(ui_scale);
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

  /** Nobody waits for that change any more: it is not begun, and one that is under way goes back. */
  withdraw(request: number): void {
    this.#withdrawn = Math.max(this.#withdrawn, request);
  }

  /**
   * Takes back a change that was made before it was withdrawn; call it in turn with apply().
   * @returns false: that change was not made, or another one has followed it
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

  /** Never throws: where the screen does not go back, the size that it has counts. */
  async #goBack(before: Sizes, { render, ui_scale }: DisplayUpdate): Promise<void> {
    if (render) {
      if (this.#fit) this.#base = before.render;
      else await this.#resizeBack(before.render);
    }
    if (ui_scale !== undefined) await this.#world.setScale(before.scale).catch(() => undefined);
  }

  /** Never throws. */
  async #resizeBack(size: ScreenSize): Promise<void> {
    await this.#world.resizeScreen(size).catch(() => undefined);
    this.#base = (await this.#world.screenSize().catch(() => null)) ?? size;
    this.#render = this.#base;
  }

  #pin(size: ScreenSize | null): void {
    this.#pinned = size;
    this.#world.resizePicture?.();
  }

  /** @throws when it is withdrawn; numbers grow, and those before it were answered or withdrawn */
  #refuseWithdrawn(request: number): void {
    if (request <= this.#withdrawn) throw new Error('the change was withdrawn');
  }

  /** What viewers are told. @param picture its size now */
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

  /** Of a window of metrics: sizes only where they are off the launch's. */
  metrics(): Record<string, number | string | boolean> {
    const metrics: Record<string, number | string | boolean> = {
      external_owner: this.#pinned ? 'pinned' : 'auto',
      external_resize_supported: this.#world.resizePicture !== null,
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
   * Where a point of the picture lies on the display. Both are counted in pixels of the launch size on the way in,
   * which is what viewers' coordinates stand for; a display of another shape than the picture has bars beside it, and a
   * point on a bar is the nearest point of the display.
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

/** @param share how much of the picture's side the display takes, in its middle */
function along(at: number, side: number, share: number, pixels: number): number {
  const inPicture = side > 1 ? at / (side - 1) : 0;
  const inDisplay = Math.min(1, Math.max(0, (inPicture - (1 - share) / 2) / share));
  return Math.round(inDisplay * (pixels - 1));
}

function isSame(a: ScreenSize, b: ScreenSize): boolean {
  return a.width === b.width && a.height === b.height;
}

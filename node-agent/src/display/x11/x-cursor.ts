import type { Timer } from '@footlight/platform';
import type { CursorImage, XEvent, XFixes } from 'x11';
import { type CursorShape, shapeOf } from './cursor-shape.ts';
import type { XConnection } from './x-connection.ts';

/** Shortest interval between two reads, because an animated cursor changes with every frame. */
const READ_INTERVAL_MS = 30;
const DISPLAY_CURSOR_MASK = 1;
const CURSOR_NOTIFY = 1;

/**
 * Watches the pointer's shape, and calls onShape after each change; null: the pointer is hidden.
 *
 * resting → (a change) → waiting for READ_INTERVAL_MS → reading → resting. Owner: the desktop of the session. close()
 * frees timer and listener; onShape is not called afterwards.
 */
export class XCursor {
  readonly #x: XConnection;
  readonly #fixes: XFixes;
  readonly #onShape: (shape: CursorShape | null) => void;
  readonly #onEvent = (event: XEvent) => {
    if (event.type === this.#fixes.firstEvent + CURSOR_NOTIFY) this.#schedule();
  };
  /** Set from a change until the new shape is read. Shapes can be large, so only one is read at a time. */
  #timer: Timer | null = null;
  /** Whether the shape changed again while #timer was set. */
  #changed = false;
  #closed = false;
  #shape: CursorShape | null = null;

  private constructor(x: XConnection, fixes: XFixes, onShape: (shape: CursorShape | null) => void) {
    this.#x = x;
    this.#fixes = fixes;
    this.#onShape = onShape;
    x.client.on('event', this.#onEvent);
    fixes.SelectCursorInput(x.root, DISPLAY_CURSOR_MASK);
  }

  /** @throws when the display has no XFIXES */
  static async open(x: XConnection, onShape: (shape: CursorShape | null) => void): Promise<XCursor> {
    const fixes = await x.request<XFixes>((callback) => x.client.require('fixes', callback));
    const cursor = new XCursor(x, fixes, onShape);
    await cursor.#read();
    return cursor;
  }

  /** Current shape; null: the pointer is hidden. */
  get shape(): CursorShape | null {
    return this.#shape;
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#x.client.removeListener('event', this.#onEvent);
  }

  #schedule(): void {
    this.#timer ??= this.#x.clock.setTimeout(() => {
      // Errors are ignored, because the connection itself reports a lost display.
      this.#read()
        .catch(() => undefined)
        .finally(() => {
          this.#timer = null;
          if (this.#changed && !this.#closed) this.#schedule();
        });
      this.#changed = false;
    }, READ_INTERVAL_MS);
    this.#changed = true;
  }

  async #read(): Promise<void> {
    const image = await this.#x.request<CursorImage>((callback) => this.#fixes.GetCursorImage(callback));
    const shape = shapeOf(image);
    if (shape?.id === this.#shape?.id && (shape === null) === (this.#shape === null)) return;
    this.#shape = shape;
    this.#onShape(shape);
  }
}

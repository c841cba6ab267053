import { createHash } from 'node:crypto';
import type { CursorImage, XEvent, XFixes } from 'x11';
import { encodePng } from '../png.ts';
import type { XConnection } from './x-connection.ts';

/** Largest side in pixels that a viewer accepts. */
const MAX_SIDE = 128;
const MAX_BASE64 = 65_536;
/** Least interval of reads: an animated cursor changes with every frame. */
const READ_INTERVAL_MS = 30;
const DISPLAY_CURSOR_MASK = 1;
const CURSOR_NOTIFY = 1;

export interface CursorShape {
  /** Equal for equal pictures. */
  id: string;
  width: number;
  height: number;
  hotX: number;
  hotY: number;
  /** base64 */
  png: string;
}

/** Follows the pointer's shape. Calls onShape with each change; null = hidden. */
export class XCursor {
  readonly #x: XConnection;
  readonly #fixes: XFixes;
  readonly #onShape: (shape: CursorShape | null) => void;
  readonly #onEvent = (event: XEvent) => {
    if (event.type === this.#fixes.firstEvent + CURSOR_NOTIFY) this.#schedule();
  };
  /** Set from a change until its shape is read: shapes can be large, so one is read at a time. */
  #timer: NodeJS.Timeout | null = null;
  /** Whether the shape changed again in the meantime. */
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
    const fixes = await x.ask<XFixes>((callback) => x.client.require('fixes', callback));
    const cursor = new XCursor(x, fixes, onShape);
    await cursor.#read();
    return cursor;
  }

  /** Current shape; null = hidden. */
  get shape(): CursorShape | null {
    return this.#shape;
  }

  close(): void {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    this.#x.client.removeListener('event', this.#onEvent);
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      // The connection itself reports a lost display.
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
    const image = await this.#x.ask<CursorImage>((callback) => this.#fixes.GetCursorImage(callback));
    const shape = shapeOf(image);
    if (shape?.id === this.#shape?.id && (shape === null) === (this.#shape === null)) return;
    this.#shape = shape;
    this.#onShape(shape);
  }
}

/**
 * Converts a cursor of the display for viewers. Pure.
 * @returns null for an invisible cursor; larger ones than 128 pixels are cropped at the far sides
 */
export function shapeOf(image: CursorImage): CursorShape | null {
  const width = Math.min(image.width, MAX_SIDE);
  const height = Math.min(image.height, MAX_SIDE);
  const rgba = Buffer.alloc(width * height * 4);
  let visible = false;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const from = (y * image.width + x) * 4;
      if (from + 4 > image.cursorImage.length) continue;
      const alpha = image.cursorImage[from + 3] ?? 0;
      if (alpha === 0) continue;
      visible = true;
      const to = (y * width + x) * 4;
      // X stores blue first and premultiplied.
      const plain = (offset: number) =>
        Math.min(255, Math.round(((image.cursorImage[from + offset] ?? 0) * 255) / alpha));
      rgba[to] = plain(2);
      rgba[to + 1] = plain(1);
      rgba[to + 2] = plain(0);
      rgba[to + 3] = alpha;
    }
  }
  if (!visible) return null;
  const hotX = Math.min(image.xhot, width - 1);
  const hotY = Math.min(image.yhot, height - 1);
  const id = createHash('sha1')
    .update(`${width}x${height}+${hotX}+${hotY}`)
    .update(rgba)
    .digest('hex')
    .slice(0, 16);
  const png = encodePng(width, height, rgba).toString('base64');
  return png.length > MAX_BASE64 ? null : { id, width, height, hotX, hotY, png };
}

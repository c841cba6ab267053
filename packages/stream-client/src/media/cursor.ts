import { CURSOR_SHAPES_KEPT, type Cursor, type CursorUse } from '@footlight/protocol/input';
import type { PointerShape } from '../types.ts';

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The cursor as a shape for the page; null: the cursor is not a valid picture. */
export function pointerShape(cursor: Cursor): Exclude<PointerShape, string> | null {
  if (!BASE64.test(cursor.png)) return null;
  const { width, height } = cursor;
  return {
    url: `data:image/png;base64,${cursor.png}`,
    width,
    height,
    hot_x: Math.min(cursor.hot_x, width - 1),
    hot_y: Math.min(cursor.hot_y, height - 1),
  };
}

/** The shape as a value of CSS `cursor`; null: the cursor is not a valid picture. */
export function cursorCss(cursor: Cursor): string | null {
  const shape = pointerShape(cursor);
  return shape && `url("${shape.url}") ${shape.hot_x} ${shape.hot_y}, default`;
}

/**
 * Shows the session's pointer shapes as the surface's CSS cursor. Keeps CURSOR_SHAPES_KEPT shapes of one connection;
 * reset() forgets them and restores the surface's earlier cursor.
 */
export class CursorShapes {
  #surface: HTMLElement;
  #onShape: (shape: PointerShape) => void;
  #before: string;
  #shapes = new Map<Cursor['id'], { css: string; shape: PointerShape }>();
  /** undefined: the session has not set a shape yet */
  #inUse: Cursor['id'] | null | undefined = undefined;

  constructor(surface: HTMLElement, onShape: (shape: PointerShape) => void) {
    this.#surface = surface;
    this.#onShape = onShape;
    this.#before = surface.style.cursor;
  }

  /** The shape in use. */
  get shape(): PointerShape {
    if (this.#inUse === null) return 'none';
    return (this.#inUse === undefined ? undefined : this.#shapes.get(this.#inUse)?.shape) ?? 'default';
  }

  define(cursor: Cursor): void {
    const css = cursorCss(cursor);
    const shape = pointerShape(cursor);
    if (css === null || shape === null) return;
    this.#shapes.delete(cursor.id);
    this.#shapes.set(cursor.id, { css, shape });
    if (this.#shapes.size > CURSOR_SHAPES_KEPT) {
      const oldest = this.#shapes.keys().next().value;
      if (oldest !== undefined) this.#shapes.delete(oldest);
    }
    if (this.#inUse === cursor.id) this.#draw();
  }

  use(message: CursorUse): void {
    this.#inUse = message.id;
    this.#draw();
  }

  /** Forgets all shapes, because shapes belong to one connection. */
  reset(): void {
    this.#shapes.clear();
    this.#inUse = undefined;
    this.#surface.style.cursor = this.#before;
  }

  #draw(): void {
    if (this.#inUse === null) this.#surface.style.cursor = 'none';
    else if (this.#inUse !== undefined)
      this.#surface.style.cursor = this.#shapes.get(this.#inUse)?.css ?? 'default';
    this.#onShape(this.shape);
  }
}

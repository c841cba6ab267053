import { CURSOR_SHAPES_KEPT, type Cursor, type CursorUse } from '@footlight/protocol/input';

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** CSS value of a shape; null when it is no valid picture. */
export function cursorCss(cursor: Cursor): string | null {
  if (!BASE64.test(cursor.png)) return null;
  const x = Math.min(cursor.hot_x, cursor.width - 1);
  const y = Math.min(cursor.hot_y, cursor.height - 1);
  return `url("data:image/png;base64,${cursor.png}") ${x} ${y}, default`;
}

/**
 * The session's pointer shapes as the surface's CSS cursor. Keeps CURSOR_SHAPES_KEPT shapes of one connection; reset()
 * forgets them and gives the surface the cursor back that it had.
 */
export class CursorShapes {
  #surface: HTMLElement;
  #before: string;
  #shapes = new Map<Cursor['id'], string>();
  /** undefined: not set by the session yet */
  #inUse: Cursor['id'] | null | undefined = undefined;

  constructor(surface: HTMLElement) {
    this.#surface = surface;
    this.#before = surface.style.cursor;
  }

  define(cursor: Cursor): void {
    const css = cursorCss(cursor);
    if (css === null) return;
    this.#shapes.delete(cursor.id);
    this.#shapes.set(cursor.id, css);
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

  /** Shapes belong to one connection. */
  reset(): void {
    this.#shapes.clear();
    this.#inUse = undefined;
    this.#surface.style.cursor = this.#before;
  }

  #draw(): void {
    if (this.#inUse === null) this.#surface.style.cursor = 'none';
    else if (this.#inUse !== undefined)
      this.#surface.style.cursor = this.#shapes.get(this.#inUse) ?? 'default';
  }
}

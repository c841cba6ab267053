import { createHash } from 'node:crypto';
import type { CursorImage } from 'x11';
import { encodePng } from '../png.ts';

/** Largest side in pixels that a viewer accepts. */
const MAX_SIDE = 128;
/** Largest length of `png` in the control message `cursor` (protocol, input). */
const MAX_BASE64 = 65_536;

export interface CursorShape {
  /** Equal pictures have equal ids. */
  id: string;
  width: number;
  height: number;
  hotX: number;
  hotY: number;
  /** The picture as PNG in base64. */
  png: string;
}

/**
 * Converts a cursor of the display for viewers. Pure.
 * @returns null: the cursor is invisible. A cursor larger than 128 pixels is cropped at the right and the bottom
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
      // X stores the channels in the order blue, green, red, premultiplied with alpha.
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

/** Sizes of a grid of tiles, in CSS pixels. */
export interface GridShape {
  columns: number;
  cellWidth: number;
  rowHeight: number;
}

/** Padding around each tile, so that its focus ring and its lift are not clipped; the same as in library.module.css. */
const CELL_PADDING = 10;
/** Space above the name, and the name's two lines. */
const NAME_HEIGHT = 12 + 42;

/**
 * Columns and sizes of a grid, the same as `repeat(auto-fill, minmax(var(--tile), 1fr))` would make. Pure.
 * @param width of the grid
 * @param windowWidth decides the minimum width of a tile
 */
export function gridShape(width: number, windowWidth: number): GridShape {
  const least = windowWidth <= 480 ? 128 : Math.min(196, Math.max(132, windowWidth * 0.115));
  const columns = Math.max(1, Math.floor(width / least));
  const cellWidth = width / columns;
  const tileHeight = ((cellWidth - 2 * CELL_PADDING) * 3) / 2;
  return { columns, cellWidth, rowHeight: tileHeight + NAME_HEIGHT + 2 * CELL_PADDING };
}

/**
 * Width of the library's grid: the page without its gutters (--fl-gutter in theme/tokens.css), plus the padding of the
 * outer cells. Pure.
 * @param pageWidth width without the scroll bar
 */
export function gridWidth(pageWidth: number, windowWidth: number): number {
  const gutter = Math.min(56, Math.max(16, windowWidth * 0.04));
  return pageWidth - 2 * gutter + 2 * CELL_PADDING;
}

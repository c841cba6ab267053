/** Position of a tile in CSS pixels. */
export interface TileBox {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** The four ways to go. */
export type Direction = 'left' | 'right' | 'up' | 'down';

/** The direction of an arrow key, or null for every other key. */
export function directionOf(key: string): Direction | null {
  return key.startsWith('Arrow') ? (key.slice(5).toLowerCase() as Direction) : null;
}

/**
 * The next focused tile, as on a console: along the row first, across rows to the nearest column. Pure.
 * @returns the index in `tiles`, or -1 for none in that direction
 */
export function nextTile(from: TileBox, tiles: readonly TileBox[], direction: Direction): number {
  const horizontal = direction === 'left' || direction === 'right';
  const sign = direction === 'left' || direction === 'up' ? -1 : 1;
  const here = centreOf(from);
  let best = -1;
  let bestCost = Number.POSITIVE_INFINITY;
  for (const [index, tile] of tiles.entries()) {
    const there = centreOf(tile);
    const along = sign * (horizontal ? there.x - here.x : there.y - here.y);
    const across = Math.abs(horizontal ? there.y - here.y : there.x - here.x);
    const clear = (horizontal ? Math.min(from.width, tile.width) : Math.min(from.height, tile.height)) / 2;
    if (along < clear) continue;
    // Left and right stay in the row; up and down prefer the next row, then the nearest column.
    if (horizontal && across > from.height / 2) continue;
    const cost = horizontal ? along + across * 2 : along * 4 + across;
    if (cost < bestCost) {
      best = index;
      bestCost = cost;
    }
  }
  return best;
}

function centreOf(tile: TileBox): { x: number; y: number } {
  return { x: tile.left + tile.width / 2, y: tile.top + tile.height / 2 };
}

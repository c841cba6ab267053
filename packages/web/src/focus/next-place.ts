/** Position of a control in CSS pixels. */
export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** The four directions. */
export type Direction = 'left' | 'right' | 'up' | 'down';

/**
 * Up to this distance in px, a nearer row is preferred to a nearer column. Beyond it the column has no effect, so that
 * a short row can be reached.
 */
const MAX_ACROSS = 500;
/** One pixel down counts as four pixels to the side, so that the next row of tiles is preferred. Chosen. */
const ROW_WEIGHT = 4;

/** The direction of an arrow key, or null for every other key. */
export function directionOf(key: string): Direction | null {
  return key.startsWith('Arrow') ? (key.slice(5).toLowerCase() as Direction) : null;
}

/**
 * The next control to focus, as on a console: the next one in the row, or the nearest column in the nearest row. Pure.
 * @param leavesRow at the end of a row, left and right move to the nearest row on this side, for example from one
 *   column of a page to another
 * @returns the index in `places`; -1: no control in this direction
 */
export function nextPlace(
  from: Box,
  places: readonly Box[],
  direction: Direction,
  leavesRow = false,
): number {
  const horizontal = direction === 'left' || direction === 'right';
  const inRow = nearest(from, places, direction, !horizontal);
  return inRow < 0 && horizontal && leavesRow ? nearest(from, places, direction, true) : inRow;
}

function nearest(from: Box, places: readonly Box[], direction: Direction, inOtherRows: boolean): number {
  const horizontal = direction === 'left' || direction === 'right';
  const here = sides(from, direction);
  let best = -1;
  let bestCost = Number.POSITIVE_INFINITY;
  for (const [index, place] of places.entries()) {
    const there = sides(place, direction);
    const overlap = Math.min(from.height, place.height, from.width, place.width) / 2;
    const along = there.near - here.far;
    if (along < -overlap || there.near + there.far <= here.near + here.far) continue;
    const across = Math.max(0, there.start - here.end, here.start - there.end);
    if (across > 0 && !inOtherRows) continue;
    const offset = Math.abs(there.start + there.end - here.start - here.end) / 2;
    // For horizontal and vertical moves, a distance between rows counts more than a distance between columns.
    const cost =
      (horizontal
        ? Math.max(0, along) + across * ROW_WEIGHT
        : Math.max(0, along) * ROW_WEIGHT + Math.min(across, MAX_ACROSS)) +
      offset / 100;
    if (cost < bestCost) {
      best = index;
      bestCost = cost;
    }
  }
  return best;
}

/**
 * Edges of a box for a direction of movement: `near` is reached first; `start` and `end` are the edges at its sides.
 */
function sides({ left, top, width, height }: Box, direction: Direction) {
  const [from, length, start, across] =
    direction === 'left' || direction === 'right' ? [left, width, top, height] : [top, height, left, width];
  const backward = direction === 'left' || direction === 'up';
  return {
    near: backward ? -(from + length) : from,
    far: backward ? -from : from + length,
    start,
    end: start + across,
  };
}

import { describe, expect, test } from 'vitest';
import { type Box, type Direction, directionOf, nextPlace } from './next-place.ts';

/** Two full rows of three tiles, and a short last row. */
const tile = (column: number, row: number): Box => ({
  left: column * 200,
  top: row * 340,
  width: 180,
  height: 320,
});
const GRID = [
  ...[0, 1, 2].map((column) => tile(column, 0)),
  ...[0, 1, 2].map((column) => tile(column, 1)),
  tile(0, 2),
];

describe('arrows over tiles', () => {
  test.each<[string, number, Direction, number]>([
    ['right in the row', 0, 'right', 1],
    ['left in the row', 4, 'left', 3],
    ['stops at the end of a row', 2, 'right', -1],
    ['down to the same column', 1, 'down', 4],
    ['up to the same column', 5, 'up', 2],
    ['down into a short row, to its nearest column', 5, 'down', 6],
    ['up from the short row', 6, 'up', 3],
    ['stops at the top', 0, 'up', -1],
  ])('%s', (_what, from, direction, to) => {
    expect(nextPlace(GRID[from]!, GRID, direction)).toBe(to);
  });

  test('a short row is not skipped, however far its last tile is', () => {
    const wide = { ...tile(9, 0) };
    expect(nextPlace(wide, [tile(0, 1), tile(9, 2)], 'down')).toBe(0);
  });

  test('small controls above the tiles are reached from the tile below them, and back', () => {
    const search: Box = { left: 420, top: -80, width: 160, height: 36 };
    const places = [...GRID, search];
    expect(nextPlace(GRID[2]!, places, 'up')).toBe(7);
    expect(nextPlace(search, GRID, 'down')).toBe(2);
  });
});

describe('arrow keys over two columns whose rows are at different heights', () => {
  const logOut: Box = { left: 20, top: 100, width: 90, height: 36 };
  const radio: Box = { left: 20, top: 300, width: 20, height: 20 };
  const rename: Box = { left: 700, top: 180, width: 90, height: 36 };
  const places = [logOut, radio, rename];

  test.each<[string, Box, Direction, number]>([
    ['right', logOut, 'right', 2],
    ['right from below', radio, 'right', 2],
    ['left, into the nearest row', rename, 'left', 0],
    ['nowhere at the edge', logOut, 'left', -1],
  ])('%s', (_what, from, direction, to) => {
    expect(nextPlace(from, places, direction, true)).toBe(to);
  });

  test('between tiles, left and right stay in the row', () => {
    expect(nextPlace(GRID[6]!, GRID, 'right')).toBe(-1);
  });
});

test.each([
  ['ArrowLeft', 'left'],
  ['ArrowDown', 'down'],
  ['Enter', null],
  ['a', null],
] as const)('the key %s goes %s', (key, direction) => expect(directionOf(key)).toBe(direction));

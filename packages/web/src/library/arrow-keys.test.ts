import { describe, expect, test } from 'vitest';
import { directionOf, nextTile } from './arrow-keys.ts';

// Two rows of three tiles, and a row of two wider cards above them.
const tile = (column: number, row: number) => ({
  left: column * 110,
  top: 200 + row * 170,
  width: 100,
  height: 150,
});
const tiles = [
  { left: 0, top: 0, width: 160, height: 100 },
  { left: 170, top: 0, width: 160, height: 100 },
  ...[0, 1].flatMap((row) => [0, 1, 2].map((column) => tile(column, row))),
];

describe('arrow keys in the library', () => {
  test.each([
    ['right along the row', 2, 'right', 3],
    ['left along the row', 4, 'left', 3],
    ['not beyond the row’s end', 4, 'right', -1],
    ['down to the same column', 3, 'down', 6],
    ['up to the same column', 7, 'up', 4],
    ['up to the nearest of wider things', 4, 'up', 1],
    ['down from a wide thing', 0, 'down', 2],
    ['not above the first row', 1, 'up', -1],
  ] as const)('%s', (_words, from, direction, to) => {
    const here = tiles[from];
    if (here === undefined) return expect.unreachable();
    expect(nextTile(here, tiles, direction)).toBe(to);
  });

  test('only arrows move', () => {
    expect(directionOf('ArrowUp')).toBe('up');
    expect(directionOf('Enter')).toBeNull();
  });
});

import { expect, test } from 'vitest';
import { gridShape, gridWidth } from './grid-shape.ts';

test.each([
  ['a phone', 378, 390, 2],
  ['a laptop', 1277, 1366, 8],
  ['a television', 1828, 1920, 9],
  ['a window narrower than a tile', 90, 120, 1],
])('%s has as many columns as fit', (_what, width, windowWidth, columns) => {
  const shape = gridShape(width, windowWidth);
  expect(shape.columns).toBe(columns);
  expect(shape.columns * shape.cellWidth).toBeCloseTo(width);
  expect(shape.rowHeight).toBeCloseTo((shape.cellWidth - 20) * 1.5 + 74);
});

test.each([
  ['a phone', 390, 390, 378],
  ['a laptop with a scroll bar', 1351, 1366, 1261.72],
  ['a television', 1920, 1920, 1828],
])('the grid of %s is the page without its gutters', (_what, pageWidth, windowWidth, width) => {
  expect(gridWidth(pageWidth, windowWidth)).toBeCloseTo(width);
});

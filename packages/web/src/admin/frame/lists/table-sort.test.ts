import { describe, expect, test } from 'vitest';
import { sorted } from './list-table.tsx';
import { nextSort } from './table-sort.ts';

const rows = [
  { name: 'gpu-10', size: 3 },
  { name: 'Gpu-2', size: null },
  { name: 'alpha', size: 20 },
];
const columns = [
  { head: 'Name', sort: 'name', by: (row: (typeof rows)[number]) => row.name, cell: () => null },
  { head: 'Size', sort: 'size', by: (row: (typeof rows)[number]) => row.size, cell: () => null },
  { head: 'Sorted by the server', sort: 'age', cell: () => null },
  { head: 'Never sorted', cell: () => null },
];
const names = (sort?: string) => sorted(rows, sort, columns).map((row) => row.name);

describe('the order of a table', () => {
  test.each([
    [undefined, ['gpu-10', 'Gpu-2', 'alpha']],
    ['name', ['alpha', 'Gpu-2', 'gpu-10']],
    ['-name', ['gpu-10', 'Gpu-2', 'alpha']],
    ['size', ['gpu-10', 'alpha', 'Gpu-2']],
    ['-size', ['alpha', 'gpu-10', 'Gpu-2']],
    ['age', ['gpu-10', 'Gpu-2', 'alpha']],
    ['constructor', ['gpu-10', 'Gpu-2', 'alpha']],
  ])('by %s: %j', (sort, order) => {
    expect(names(sort)).toEqual(order);
  });

  test('a press on a column’s head sorts ascending, then descending, then as the server does', () => {
    expect(nextSort(undefined, 'name')).toBe('name');
    expect(nextSort('name', 'name')).toBe('-name');
    expect(nextSort('-name', 'name')).toBeUndefined();
    expect(nextSort('-size', 'name')).toBe('name');
  });
});

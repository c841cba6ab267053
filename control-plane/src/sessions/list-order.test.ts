import { describe, expect, test } from 'vitest';
import { ApiError } from '../platform/errors.ts';
import { readOrder, readSortedCursor, writeSortedCursor } from './list-order.ts';

const ID = '0192d3a4-0000-7000-8000-000000000001';
const key = (value: string | number | null) => ({ value, created_at: 1_795_168_860_000, id: ID });
const cursorOf = (parts: unknown) => Buffer.from(JSON.stringify(parts)).toString('base64url');

test('without a sort, the newest sessions are first', () => {
  expect(readOrder(undefined)).toEqual({ by: 'created', reverse: true });
  expect(readOrder('app')).toEqual({ by: 'app', reverse: false });
  expect(readOrder('-app')).toEqual({ by: 'app', reverse: true });
});

describe('a cursor', () => {
  test.each([
    ['app', 'größe 1007größe 2'],
    ['host', null],
    ['created', null],
    ['picture', 921_600],
  ] as const)('in the order %s is read as it was written', (by, value) => {
    const order = readOrder(by);
    expect(readSortedCursor(order, writeSortedCursor(order, key(value)))).toEqual(key(value));
    // The direction may change: the cursor is a place in the order.
    expect(readSortedCursor(readOrder(`-${by}`), writeSortedCursor(order, key(value)))).toEqual(key(value));
    expect(readSortedCursor(order, undefined)).toBeNull();
  });

  test.each([
    ['another order', cursorOf(['user', 'x', 1, ID])],
    ['a number where the order has texts', cursorOf(['app', 1, 1, ID])],
    ['a NUL character', cursorOf(['app', 'a\0b', 1, ID])],
    ['a time that is no number', cursorOf(['app', 'x', '1', ID])],
    ['no id', cursorOf(['app', 'x', 1])],
    ['an id that is none', cursorOf(['app', 'x', 1, 'y'])],
    ['a further part', cursorOf(['app', 'x', 1, ID, 1])],
    ['no list', cursorOf({ length: 4 })],
    ['no JSON', 'nope'],
  ])('with %s is refused', (_what, cursor) => {
    expect(() => readSortedCursor(readOrder('app'), cursor)).toThrow(ApiError);
  });

  test.each([[2 ** 31], [1.5], ['921600']])('with the size %j of a picture is refused', (value) => {
    const cursor = cursorOf(['picture', value, 1, ID]);
    expect(() => readSortedCursor(readOrder('picture'), cursor)).toThrow(ApiError);
  });
});

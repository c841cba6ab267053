import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { zonedDateTime } from './atoms.ts';

describe('an instant in a request', () => {
  test.each([
    ['2026-06-02T12:00:00Z', '2026-06-02T12:00:00.000Z'],
    ['2026-06-02t12:00:00.5z', '2026-06-02T12:00:00.500Z'],
    ['2026-06-02T12:00:00.123999+02:00', '2026-06-02T10:00:00.123Z'],
    ['2026-06-02T00:30:00-23:59', '2026-06-03T00:29:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z'],
  ])('%s is read', (text, expected) => {
    expect(new Date(zonedDateTime.parse(text)).toISOString()).toBe(expected);
  });

  test.each([
    '',
    '2026-06-02',
    '2026-06-02T12:00:00',
    '2026-06-02T12:00Z',
    '2026-06-02 12:00:00Z',
    '2026-06-02T24:00:00Z',
    '2026-06-02T12:60:00Z',
    '2026-06-02T12:00:00+24:00',
    '2026-06-02T12:00:00+0200',
    '2026-00-02T12:00:00Z',
    '2026-13-02T12:00:00Z',
    '2026-02-29T12:00:00Z',
    '2026-04-31T12:00:00Z',
    '9999-12-31T23:59:59-00:01',
    '0000-01-01T00:00:00+00:01',
    '+02026-06-02T12:00:00Z',
    '2026-06-02T12:00:00Z ',
  ])('%j is none', (text) => {
    expect(zonedDateTime.safeParse(text).success).toBe(false);
  });

  test('is parsed from the form in answers', () => {
    const [min, max] = [new Date('0000-01-01T00:00:00.000Z'), new Date('9999-12-31T23:59:59.999Z')];
    fc.assert(
      fc.property(fc.date({ min, max, noInvalidDate: true }), (date) => {
        expect(zonedDateTime.parse(date.toISOString())).toBe(date.getTime());
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ClockOffset } from './clock-offset.ts';

describe('the clock offset', () => {
  /** A pong from a host whose clock is ahead by `ahead`; the ping took `there` ms and the pong `back` ms. */
  const pong = (sentMs: number, ahead: number, there: number, back: number) => ({
    answer: { client_ms: sentMs, receive_ms: sentMs + ahead + there, send_ms: sentMs + ahead + there + 1 },
    receivedMs: sentMs + there + 1 + back,
  });
  /** Adds a pong that was sent at `atMs`. */
  const add = (clock: ClockOffset, atMs: number, ahead: number, there: number, back = there) => {
    const { answer, receivedMs } = pong(atMs, ahead, there, back);
    return clock.add(answer, receivedMs, atMs);
  };

  test('the smallest round trip of eight decides; with fewer pongs nothing is measured', () => {
    const clock = new ClockOffset();
    const told = [];
    for (const [index, way] of [20, 9, 4, 12, 30, 8, 15, 10].entries()) {
      expect(clock.record).toBeNull();
      told.push(add(clock, index * 200, 500, way));
    }
    expect(told.slice(0, 7)).toEqual(Array(7).fill(null));
    expect(told[7]).toEqual({ client_offset_ms: 500, uncertainty_ms: 4 });
    expect(clock.record).toEqual(told[7]);
  });

  test('the error is at most the uncertainty, half of the smallest round trip', () => {
    const way = fc.double({ min: 0, max: 2_000, noNaN: true });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(way, way), { minLength: 8, maxLength: 200 }),
        fc.double({ min: -1e9, max: 1e9, noNaN: true }),
        (ways, ahead) => {
          const clock = new ClockOffset();
          for (const [index, [there, back]] of ways.entries()) add(clock, index * 1_000, ahead, there, back);
          const record = clock.record;
          const smallest = Math.min(...ways.slice(-64).map(([there, back]) => there + back));
          expect(record?.uncertainty_ms).toBeCloseTo(smallest / 2, 3);
          expect(Math.abs((record?.client_offset_ms ?? Number.NaN) - ahead)).toBeLessThanOrEqual(
            smallest / 2 + 1e-3,
          );
        },
      ),
    );
  });

  test.each([
    ['below zero', 50, false],
    ['of zero', 100, true],
    ['of five seconds', 5_100, true],
    ['above five seconds', 5_100.5, false],
  ])('a round trip %s', (_name, receivedMs, counts) => {
    const clock = new ClockOffset();
    for (let index = 0; index < 8; index += 1)
      clock.add({ client_ms: 100, receive_ms: 0, send_ms: 0 }, receivedMs, 0);
    expect(clock.record !== null).toBe(counts);
  });

  test('only the last 64 results count', () => {
    const clock = new ClockOffset();
    add(clock, 0, 700, 1);
    for (let index = 1; index <= 63; index += 1) add(clock, index * 1_000, 500, 20);
    expect(clock.record).toEqual({ client_offset_ms: 700, uncertainty_ms: 1 });
    add(clock, 64_000, 500, 20);
    expect(clock.record).toEqual({ client_offset_ms: 500, uncertainty_ms: 20 });
  });

  test('it is reported again after a minute', () => {
    const clock = new ClockOffset();
    for (let index = 0; index < 8; index += 1) add(clock, index, 500, 5);
    expect(add(clock, 60_006, 500, 5)).toBeNull();
    expect(add(clock, 60_007, 500, 5)).not.toBeNull();
    expect(add(clock, 60_008, 500, 5)).toBeNull();
  });

  test.each([
    [5, 502, 4, null, 'less than the uncertainty'],
    [5, 504.5, 4, { client_offset_ms: 504.5, uncertainty_ms: 4 }, 'more than the uncertainty'],
    [1, 502, 0.5, null, 'two milliseconds, however certain'],
    [1, 502.5, 0.5, { client_offset_ms: 502.5, uncertainty_ms: 0.5 }, 'more than two milliseconds'],
  ])('or on a change: error %s, then offset %s with error %s: %j, %s', (first, ahead, way, told, _why) => {
    const clock = new ClockOffset();
    for (let index = 0; index < 8; index += 1) add(clock, index, 500, first);
    expect(add(clock, 1_000, ahead, way)).toEqual(told);
    expect(add(clock, 2_000, ahead, way)).toBeNull();
  });

  test('a new connection starts over', () => {
    const clock = new ClockOffset();
    for (let index = 0; index < 8; index += 1) add(clock, index, 500, 5);
    clock.reset();
    expect(clock.record).toBeNull();
    const told = Array.from({ length: 8 }, (_, index) => add(clock, 10_000 + index, 500, 5));
    expect(told.slice(0, 7)).toEqual(Array(7).fill(null));
    expect(told[7]).not.toBeNull();
  });
});

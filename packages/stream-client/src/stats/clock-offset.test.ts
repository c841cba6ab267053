import { describe, expect, test } from 'vitest';
import { ClockOffset } from './clock-offset.ts';

describe('the clock offset', () => {
  /** A pong of a host whose clock is ahead by `ahead`, over a way of `there` and `back` ms. */
  const pong = (sentMs: number, ahead: number, there: number, back: number) => ({
    answer: { client_ms: sentMs, receive_ms: sentMs + ahead + there, send_ms: sentMs + ahead + there + 1 },
    receivedMs: sentMs + there + 1 + back,
  });

  test('the smallest round trip of eight decides', () => {
    const clock = new ClockOffset();
    const told = [];
    for (const [index, way] of [20, 9, 4, 12, 30, 8, 15, 10].entries()) {
      const { answer, receivedMs } = pong(index * 200, 500, way, way);
      told.push(clock.add(answer, receivedMs, index * 200));
    }
    expect(told.slice(0, 7)).toEqual(Array(7).fill(null));
    expect(told[7]).toEqual({ client_offset_ms: 500, uncertainty_ms: 4 });
  });

  test('an uneven way is wrong by at most the uncertainty', () => {
    const clock = new ClockOffset();
    const { answer, receivedMs } = pong(0, 1000, 10, 2);
    clock.add(answer, receivedMs, 0);
    const record = clock.record;
    expect(Math.abs((record?.client_offset_ms ?? 0) - 1000)).toBeLessThanOrEqual(record?.uncertainty_ms ?? 0);
  });

  test('impossible round trips are left out', () => {
    const clock = new ClockOffset();
    expect(clock.add({ client_ms: 100, receive_ms: 0, send_ms: 0 }, 50, 0)).toBeNull();
    expect(clock.add({ client_ms: 0, receive_ms: 0, send_ms: 0 }, 5_001, 0)).toBeNull();
    expect(clock.record).toBeNull();
  });

  test('the offset is told again after a minute, or when it moved by 10 ms', () => {
    const clock = new ClockOffset();
    const add = (atMs: number, ahead: number, way: number) => {
      const { answer, receivedMs } = pong(atMs, ahead, way, way);
      return clock.add(answer, receivedMs, atMs);
    };
    for (let index = 0; index < 8; index += 1) add(index, 500, 5);
    expect(add(1_000, 500, 5)).toBeNull();
    expect(add(2_000, 510, 1)).toMatchObject({ client_offset_ms: 510 });
    expect(add(3_000, 510, 1)).toBeNull();
    expect(add(62_500, 510, 1)).not.toBeNull();
    clock.reset();
    expect(clock.record).toBeNull();
  });
});

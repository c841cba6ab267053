import { describe, expect, test } from 'vitest';
import { createHandshakeLimiter, SIGNALING_LIMITS } from './limiter.ts';

function world(settings = SIGNALING_LIMITS) {
  let now = 0;
  const limiter = createHandshakeLimiter({ monotonicMs: () => now }, settings);
  return { limiter, pass: (ms: number) => (now += ms) };
}

describe('failed tokens', () => {
  test('ten in a minute block the address, and only it', () => {
    const { limiter } = world();
    for (let count = 0; count < 9; count += 1) limiter.failed('a');
    expect(limiter.admits('a')).toBe(true);
    limiter.failed('a');
    expect(limiter.admits('a')).toBe(false);
    expect(limiter.admits('b')).toBe(true);
  });

  test('until they are a minute old', () => {
    const { limiter, pass } = world();
    for (let count = 0; count < 10; count += 1) limiter.failed('a');
    pass(59_999);
    expect(limiter.admits('a')).toBe(false);
    pass(1);
    expect(limiter.admits('a')).toBe(true);
  });

  test('no more addresses are remembered than agreed', () => {
    const { limiter } = world({ ...SIGNALING_LIMITS, maxAddresses: 2, failuresPerMinute: 2 });
    for (const address of ['a', 'b', 'b', 'c', 'c']) limiter.failed(address);
    // `a` was evicted, so one more failure does not block it.
    limiter.failed('a');
    expect(limiter.admits('b')).toBe(false);
    expect(limiter.admits('c')).toBe(false);
  });

  test('a blocked address stays blocked during attempts from 10,000 others', () => {
    const { limiter } = world();
    for (let count = 0; count < 10; count += 1) limiter.failed('a');
    for (let other = 0; other < 10_000; other += 1) limiter.failed(`b${other}`);
    expect(limiter.admits('a')).toBe(false);
  });
});

describe('handshakes in flight', () => {
  test('ten of one address, and room again when one is over', () => {
    const { limiter } = world();
    const open = Array.from({ length: 10 }, () => limiter.begin('a'));
    expect(limiter.admits('a')).toBe(false);
    expect(limiter.admits('b')).toBe(true);
    open[0]?.release();
    open[0]?.release();
    expect(limiter.admits('a')).toBe(true);
    limiter.begin('a');
    expect(limiter.admits('a')).toBe(false);
  });

  test('256 in all', () => {
    const { limiter } = world();
    for (let index = 0; index < 256; index += 1) limiter.begin(`address-${index}`);
    expect(limiter.admits('another')).toBe(false);
  });
});

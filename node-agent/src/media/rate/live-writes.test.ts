import { describe, expect, test } from 'vitest';
import { LiveWrites } from './live-writes.ts';

const LAUNCH = 8_000;
const EIGHTY = 6_400;

/** A simulated encoder with 50 frames a second. */
function encoder(fillsItsBitrate = true) {
  const writes = new LiveWrites({ fillsItsBitrate });
  let nowMs = 1_000_000;
  const bytesOf = (kbps: number) => (kbps * 125) / 50;
  return {
    writes,
    write: (from: number, to: number, isTaken = true) => writes.written(from, to, isTaken, nowMs),
    frames(ms: number, kbps: number) {
      for (const untilMs = nowMs + ms; nowMs < untilMs; ) {
        nowMs += 20;
        writes.frame(bytesOf(kbps), nowMs);
      }
    },
    silence(ms: number) {
      nowMs += ms;
      writes.tick(nowMs);
    },
    said: () => writes.metrics().live_write_stable,
  };
}

describe('whether an encoder can change its bitrate', () => {
  test('there is no verdict before the first write', () => {
    const { frames, said } = encoder();
    frames(10_000, LAUNCH);
    expect(said()).toBeUndefined();
  });

  test('a bitrate that follows is stable, from the write on', () => {
    const { write, frames, said } = encoder();
    write(LAUNCH, EIGHTY);
    expect(said()).toBe(true);
    frames(7_000, EIGHTY);
    write(EIGHTY, LAUNCH);
    frames(7_000, LAUNCH);
    expect(said()).toBe(true);
  });

  test('a refused write is not', () => {
    const { write, frames, said } = encoder();
    write(LAUNCH, EIGHTY, false);
    frames(7_000, EIGHTY);
    expect(said()).toBe(false);
  });

  test.each([
    [480, true],
    [481, false],
  ])('%i ms before the frame that comes 20 ms later', (ms, isStable) => {
    const { write, frames, silence, said } = encoder();
    write(LAUNCH, EIGHTY);
    silence(ms);
    frames(7_000, EIGHTY);
    expect(said()).toBe(isStable);
  });

  test('only silence within 2 s of the write is judged', () => {
    const { write, frames, silence, said } = encoder();
    write(LAUNCH, EIGHTY);
    frames(1_500, EIGHTY);
    silence(900);
    frames(5_000, EIGHTY);
    expect(said()).toBe(true);
  });

  test.each([
    [1.39, true, true],
    [1.41, false, true],
    [0.61, true, true],
    [0.59, false, true],
    [1.41, false, false],
    [0.1, true, false],
  ])(
    'a mean of %f times the target: stable %s where the picture fills its bitrate: %s',
    (share, isStable, fills) => {
      const { write, frames, said } = encoder(fills);
      write(LAUNCH, EIGHTY);
      // The first two seconds may still have the old bitrate, so they are not checked.
      frames(1_980, LAUNCH * 3);
      frames(4_100, EIGHTY * share);
      expect(said()).toBe(isStable);
    },
  );

  test('a change of less than a tenth is not judged', () => {
    const { write, frames, said } = encoder();
    write(LAUNCH, LAUNCH * 0.91);
    frames(7_000, LAUNCH * 3);
    expect(said()).toBeUndefined();
  });

  test('the mean of a write is not judged when another follows within 6 s', () => {
    const { write, frames, said } = encoder();
    write(LAUNCH, EIGHTY);
    frames(5_900, LAUNCH * 3);
    write(EIGHTY, LAUNCH);
    frames(7_000, LAUNCH);
    expect(said()).toBe(true);
  });

  test('unstable is final', () => {
    const { write, frames, said } = encoder();
    write(LAUNCH, EIGHTY, false);
    write(EIGHTY, LAUNCH);
    frames(7_000, LAUNCH);
    expect(said()).toBe(false);
  });
});

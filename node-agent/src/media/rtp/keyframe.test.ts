import { describe, expect, test } from 'vitest';
import { isKeyframe } from './keyframe.ts';

const packet = (...payload: number[]) => Buffer.from([0x80, 96, ...new Array(10).fill(0), ...payload]);
const h265 = (type: number) => [type << 1, 1];
const aggregate = (header: number[], ...units: number[][]) =>
  packet(...header, ...units.flatMap((unit) => [0, unit.length, ...unit]));

describe('a keyframe is recognized by its packets', () => {
  test.each([
    ['h264', packet(0x67), true, 'SPS'],
    ['h264', packet(0x65), true, 'IDR'],
    ['h264', packet(0x61), false, 'slice'],
    ['h264', packet(0x7c, 0x85), true, 'first fragment of an IDR'],
    ['h264', packet(0x7c, 0x81), false, 'fragment of a slice'],
    ['h264', aggregate([0x78], [0x09, 0xf0], [0x67, 1]), true, 'aggregate with an SPS behind a delimiter'],
    ['h264', aggregate([0x78], [0x61, 1]), false, 'aggregate of slices'],
    ['h265', packet(...h265(32)), true, 'VPS'],
    ['h265', packet(...h265(19)), true, 'IDR'],
    ['h265', packet(...h265(21)), true, 'CRA'],
    ['h265', packet(...h265(1)), false, 'trailing picture'],
    ['h265', packet(...h265(49), 0x80 | 19), true, 'first fragment of an IDR'],
    ['h265', packet(...h265(49), 0x80 | 1), false, 'fragment of a trailing picture'],
    [
      'h265',
      aggregate(h265(48), [...h265(35), 0x50], h265(32)),
      true,
      'aggregate with a VPS behind a delimiter',
    ],
    ['h265', aggregate(h265(48), h265(1)), false, 'aggregate of trailing pictures'],
    ['av1', packet(0x18), true, 'a new coded video sequence'],
    ['av1', packet(0x10), false, 'within a sequence'],
    ['av1', packet(), false, 'nothing'],
  ] as const)('%s %#', (codec, bytes, expected, what) => {
    expect(isKeyframe(codec, [bytes]), what).toBe(expected);
  });

  test('bytes that are no RTP packet start nothing', () => {
    for (const codec of ['h264', 'h265', 'av1'] as const)
      expect(isKeyframe(codec, [Buffer.alloc(3)])).toBe(false);
  });
});

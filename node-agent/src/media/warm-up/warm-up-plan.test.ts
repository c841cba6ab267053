import type { EncoderInfo } from '@footlight/protocol/agent';
import { describe, expect, test } from 'vitest';
import { planWarmUp } from './warm-up-plan.ts';

const encoder = (gpu_index: number, codec: EncoderInfo['codec'], more: Partial<EncoderInfo> = {}) =>
  ({ family: 'va', gpu_index, codec, available: true, ...more }) as EncoderInfo;

describe('the warm-up of images', () => {
  test.each<[string, number, EncoderInfo[], [number, string][]]>([
    ['nothing without images', 0, [encoder(0, 'h264')], []],
    ['nothing without encoders', 2, [], []],
    ['nothing if none works', 2, [encoder(0, 'h264', { available: false })], []],
    ['nothing of another family', 2, [encoder(0, 'h264', { family: 'openh264' })], []],
    ['H.264 before others', 1, [encoder(0, 'av1'), encoder(0, 'h264')], [[0, 'h264']]],
    [
      'what works without H.264',
      1,
      [encoder(0, 'h264', { available: false }), encoder(0, 'h265')],
      [[0, 'h265']],
    ],
    [
      'the GPUs in turn',
      3,
      [encoder(1, 'av1'), encoder(0, 'h264')],
      [
        [0, 'h264'],
        [1, 'av1'],
        [0, 'h264'],
      ],
    ],
  ])('takes %s', (_, images, encoders, expected) => {
    expect(planWarmUp(images, 'va', encoders).map(({ gpuIndex, codec }) => [gpuIndex, codec])).toEqual(
      expected,
    );
  });
});

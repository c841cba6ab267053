import { describe, expect, test } from 'vitest';
import { judgeHealth, judgeQuality, type SecondFacts } from './quality.ts';

describe('the quality word', () => {
  const facts: SecondFacts = { targetFps: 60, loss: 0, dropped: 0, freezes: 0, hidden: false };

  test.each([
    ['all is well', { fps: 60, rtt_ms: 10 }, facts, 'excellent', ''],
    ['some delay', { fps: 60, rtt_ms: 84 }, facts, 'good', 'network delay 84 ms'],
    ['much delay', { fps: 60, rtt_ms: 300 }, facts, 'poor', 'network delay 300 ms'],
    ['few frames', { fps: 20 }, facts, 'poor', '20 of 60 frames a second'],
    ['loss', { fps: 60 }, { ...facts, loss: 0.02 }, 'good', '2.0 % of packets lost'],
    ['freezes', { fps: 60 }, { ...facts, freezes: 2 }, 'poor', 'the picture froze'],
    ['hidden pages are not judged by frames', { fps: 0 }, { ...facts, hidden: true }, 'excellent', ''],
    ['the worst wins over the first', { fps: 50, rtt_ms: 300 }, facts, 'poor', 'network delay 300 ms'],
  ] as const)('%s', (_name, metrics, second, word, reason) => {
    expect(judgeQuality(metrics, second)).toEqual({ word, reason });
  });

  test.each([
    ['smooth', { fps: 60, decode_ms: 4 }, facts, 'smooth'],
    ['slow decoder', { decode_ms: 20 }, facts, 'decode_degrading'],
    ['dropped frames', {}, { ...facts, dropped: 10 }, 'decode_degrading'],
    ['uneven', { present_long_frames: 10 }, facts, 'presentation_degrading'],
    ['hidden', { decode_ms: 20 }, { ...facts, hidden: true }, 'backgrounded_or_hidden'],
  ] as const)('health: %s', (_name, metrics, second, health) => {
    expect(judgeHealth(metrics, second).health).toBe(health);
  });
});

import { describe, expect, test } from 'vitest';
import { judgeQuality, type SecondFacts } from './quality.ts';

describe('the quality word', () => {
  const facts: SecondFacts = {
    targetFps: 60,
    loss: 0,
    received: 60,
    decoded: 60,
    dropped: 0,
    freezes: 0,
    hidden: false,
  };

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
    expect(judgeQuality(metrics, second, 'smooth')).toEqual({ word, reason });
  });

  test.each([
    ['smooth', 'excellent', ''],
    ['decode_degrading', 'good', 'this device decodes too slowly; a lower quality helps'],
    [
      'presentation_degrading',
      'good',
      'this device shows the picture unevenly; other programs may keep it busy',
    ],
  ] as const)('a device that is %s', (health, word, reason) => {
    expect(judgeQuality({ fps: 60 }, facts, health)).toEqual({ word, reason });
  });
});

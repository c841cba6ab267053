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
  const QUICK = { capture_ms: 4, encode_ms: 4 };
  const delayed = (ms: number) => ({ kind: 'network_delay', ms }) as const;

  test.each([
    ['all is well', { fps: 60, rtt_ms: 10, glass_to_glass_ms: 40 }, facts, 'excellent', null],
    ['some delay', { fps: 60, rtt_ms: 84 }, facts, 'good', delayed(84)],
    ['much delay', { fps: 60, rtt_ms: 300 }, facts, 'poor', delayed(300)],
    ['few frames', { fps: 20 }, facts, 'poor', { kind: 'few_frames', shown: 20, wanted: 60 }],
    [
      'few frames that come',
      { fps: 9 },
      { ...facts, targetFps: 15, received: 9 },
      'poor',
      { kind: 'few_arrive', arrived: 9, wanted: 15 },
    ],
    [
      'fewer frames than a steady host sends: the report after the session blames the host as well',
      { fps: 49 },
      { ...facts, received: 49 },
      'poor',
      { kind: 'few_arrive', arrived: 49, wanted: 60 },
    ],
    [
      'as many frames as a steady host must send',
      { fps: 50 },
      { ...facts, received: 50 },
      'good',
      { kind: 'few_arrive', arrived: 50, wanted: 60 },
    ],
    ['a missing frame or two', { fps: 57 }, { ...facts, received: 57 }, 'excellent', null],
    ['loss', { fps: 60 }, { ...facts, loss: 0.02 }, 'good', { kind: 'loss', share: 0.02 }],
    ['freezes', { fps: 60 }, { ...facts, freezes: 2 }, 'poor', { kind: 'frozen' }],
    ['hidden pages are not judged by frames', { fps: 0 }, { ...facts, hidden: true }, 'excellent', null],
    ['the worst wins over the first', { fps: 50, rtt_ms: 300 }, facts, 'poor', delayed(300)],
    [
      'old pictures for no other reason',
      { fps: 60, glass_to_glass_ms: 260 },
      facts,
      'good',
      { kind: 'picture_delay', ms: 260 },
    ],
  ] as const)('%s', (_name, metrics, second, word, cause) => {
    expect(judgeQuality(metrics, second, 'smooth', QUICK)).toEqual({ word, cause });
  });

  test.each([
    [60, QUICK, 'excellent', null],
    // Encoding on a shared processor is the cause. Its effects (few frames and old pictures) are not reported as the
    // cause.
    [60, { capture_ms: 2_190, encode_ms: 10 }, 'poor', { kind: 'host_wait', ms: 2_200 }],
    [60, { capture_ms: 20, encode_ms: 50 }, 'good', { kind: 'host_wait', ms: 70 }],
    // The host does not exceed its time limit at this frame rate.
    [15, { capture_ms: 30, encode_ms: 60 }, 'excellent', null],
  ] as const)('a host at %s frames a second, with %o', (targetFps, delay, word, cause) => {
    const late = word === 'poor' ? { fps: 20, glass_to_glass_ms: 2_300 } : { fps: targetFps };
    expect(judgeQuality(late, { ...facts, targetFps }, 'smooth', delay)).toEqual({ word, cause });
  });

  test.each([
    ['smooth', 'excellent', null],
    ['decode_degrading', 'good', { kind: 'decoding' }],
    ['presentation_degrading', 'good', { kind: 'presenting' }],
  ] as const)('a device that is %s', (health, word, cause) => {
    expect(judgeQuality({ fps: 60 }, facts, health, null)).toEqual({ word, cause });
  });
});

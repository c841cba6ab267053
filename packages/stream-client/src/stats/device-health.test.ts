import type { ClientMetrics } from '@footlight/protocol/telemetry';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { judgeDevice } from './device-health.ts';
import type { SecondFacts } from './quality.ts';

/** A second at 60 fps in which all frames arrived, were decoded and were shown. */
const GOOD: SecondFacts = {
  targetFps: 60,
  loss: 0,
  received: 60,
  decoded: 60,
  dropped: 0,
  freezes: 0,
  hidden: false,
};
const SHOWN: ClientMetrics = { present_n: 60, present_interval_sd_ms: 1, present_long_frames: 0 };

type Row = [
  name: string,
  metrics: ClientMetrics,
  facts: Partial<SecondFacts>,
  health: string,
  reason: string,
];
const rows = (table: Row[]) => (each: (...row: Row) => void) => test.each(table)('%s', each);

const judged: Parameters<ReturnType<typeof rows>>[0] = (_name, metrics, facts, health, reason) => {
  expect(judgeDevice({ ...SHOWN, ...metrics }, { ...GOOD, ...facts })).toEqual({ health, reason });
};

describe('the decoder', () => {
  rows([
    ['fast', { decode_ms: 4 }, {}, 'smooth', ''],
    ['a frame time, not more', { decode_ms: 1000 / 60 }, { received: undefined }, 'smooth', ''],
    [
      'more than a frame time, and frames are left over',
      { decode_ms: 20 },
      { decoded: 50 },
      'decode_degrading',
      'decoding takes 20.0 ms a frame',
    ],
    [
      'more than a frame time, in a browser that does not count arrived frames',
      { decode_ms: 20 },
      { received: undefined },
      'decode_degrading',
      'decoding takes 20.0 ms a frame',
    ],
    ['holds several frames and decodes every one', { decode_ms: 40 }, {}, 'smooth', ''],
    ['two frames are still on their way', { decode_ms: 40 }, { decoded: 58 }, 'smooth', ''],
    ['more were decoded than arrived', { decode_ms: 40 }, { decoded: 62 }, 'smooth', ''],
    [
      'the host sends fewer frames',
      { decode_ms: 20, present_n: 30 },
      { received: 30, decoded: 30 },
      'smooth',
      '',
    ],
    ['six frames dropped', {}, { dropped: 6 }, 'smooth', ''],
    ['seven frames dropped', {}, { dropped: 7 }, 'decode_degrading', '7 frames dropped'],
    [
      'a third is not decoded',
      { present_n: 40 },
      { decoded: 40, dropped: 3 },
      'decode_degrading',
      '20 of 60 frames not decoded',
    ],
    [
      'nothing is decoded',
      { present_n: 0 },
      { decoded: 0 },
      'decode_degrading',
      '60 of 60 frames not decoded',
    ],
    ['nothing arrives', { present_n: 0 }, { received: 0, decoded: 0 }, 'smooth', ''],
  ])(judged);
});

describe('the display', () => {
  const UNEVEN = 'presentation_degrading';
  rows([
    ['even', {}, {}, 'smooth', ''],
    ['a hitch begins at 18 ms', { present_interval_sd_ms: 17.9 }, {}, 'smooth', ''],
    ['a hitch', { present_interval_sd_ms: 18 }, {}, UNEVEN, 'frames 18 ms uneven'],
    [
      'at 30 fps it begins at 36 ms',
      { present_interval_sd_ms: 35, present_n: 30 },
      { targetFps: 30, received: 30, decoded: 30 },
      'smooth',
      '',
    ],
    [
      'frames that came unevenly',
      { present_interval_sd_ms: 30, present_n: 49 },
      { received: 49, decoded: 49 },
      'smooth',
      '',
    ],
    [
      'frames that came steadily',
      { present_interval_sd_ms: 30, present_n: 50 },
      { received: 50, decoded: 50 },
      UNEVEN,
      'frames 30 ms uneven',
    ],
    ['six long frames', { present_long_frames: 6 }, {}, 'smooth', ''],
    ['seven long frames', { present_long_frames: 7 }, {}, UNEVEN, '7 long frames'],
    ['a display of 50 Hz', { present_n: 50 }, {}, 'smooth', ''],
    ['a page that shows every other frame', { present_n: 30 }, {}, UNEVEN, '30 of 60 frames shown'],
    ['a browser that reports no shown frames', { present_n: 0 }, {}, 'smooth', ''],
    [
      'few frames, of which two are on their way',
      { present_n: 2 },
      { received: 4, decoded: 4 },
      'smooth',
      '',
    ],
    ['the decoder comes first', { present_n: 30 }, { dropped: 20 }, 'decode_degrading', '20 frames dropped'],
  ])(judged);
});

describe('values that do not indicate a device problem', () => {
  const BAD: ClientMetrics = {
    decode_ms: 40,
    present_interval_sd_ms: 60,
    present_long_frames: 20,
    present_n: 20,
  };
  rows([
    [
      'a hidden page',
      BAD,
      { hidden: true, dropped: 30, decoded: 20 },
      'backgrounded_or_hidden',
      'page hidden',
    ],
    ['lost packets', BAD, { loss: 0.006, dropped: 30, decoded: 20 }, 'smooth', ''],
    [
      'half a percent of loss explains nothing',
      BAD,
      { loss: 0.005, decoded: 20 },
      'decode_degrading',
      'decoding takes 40.0 ms a frame',
    ],
    ['no packets', BAD, { loss: null, received: 0, decoded: 0, dropped: 0 }, 'smooth', ''],
  ])(judged);
});

test('any second gets one verdict; a bad one has a reason that the service can store', () => {
  const figure = fc.oneof(fc.double({ min: 0, max: 1e6, noNaN: true }), fc.constant(undefined));
  const count = fc.nat(300);
  const metrics = fc.record({
    decode_ms: figure,
    present_n: fc.option(count, { nil: undefined }),
    present_interval_sd_ms: figure,
    present_long_frames: fc.option(count, { nil: undefined }),
  });
  const facts = fc.record({
    targetFps: fc.constantFrom(30, 60, 120, 240),
    loss: fc.constantFrom(null, 0, 0.005, 0.01, 1),
    received: fc.option(count, { nil: undefined }),
    decoded: fc.option(count, { nil: undefined }),
    dropped: count,
    freezes: count,
    hidden: fc.boolean(),
  });
  fc.assert(
    fc.property(metrics, facts, (some, second) => {
      const { health, reason } = judgeDevice(some as ClientMetrics, second);
      expect(reason === '').toBe(health === 'smooth');
      expect(reason.length).toBeLessThanOrEqual(60);
      expect(health === 'backgrounded_or_hidden').toBe(second.hidden);
      if ((second.loss ?? 0) > 0.005) expect(['smooth', 'backgrounded_or_hidden']).toContain(health);
    }),
  );
});

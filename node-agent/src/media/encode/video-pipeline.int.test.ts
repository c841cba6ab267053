import { percentile } from '@footlight/platform';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemMediaClock } from '../session/media-clock.ts';
import { readMediaSettings } from '../session/media-settings.ts';
import { startTestDisplay, type TestDisplay } from '../testing/display.ts';
import { type EncoderRow, encoderRow } from './encoders.ts';
import { type CapturedFrame, type EncodedFrame, VideoPipeline } from './video-pipeline.ts';

const SIZE = { width: 320, height: 240 };
const FPS = 30;
const FRAMES = 20;
/** Time for a picture with which an encoder keeps up, and falls behind. */
const QUICK_MS = 20;
const SLOW_MS = 100;

let display: TestDisplay;
let pipeline: VideoPipeline | null = null;

beforeAll(async () => {
  display = await startTestDisplay(SIZE.width, SIZE.height);
});

afterEach(async () => {
  await pipeline?.dispose();
  pipeline = null;
});

afterAll(() => display?.close());

const ascending = (a: number, b: number) => a - b;

/** Runs until `FRAMES` have come out. @returns what was told by then, in the order in which it was told */
async function run(row: EncoderRow): Promise<({ in: CapturedFrame } | { out: EncodedFrame })[]> {
  const told: ({ in: CapturedFrame } | { out: EncodedFrame })[] = [];
  await new Promise<void>((resolve, reject) => {
    let left = FRAMES;
    pipeline = new VideoPipeline({
      display: display.name,
      row,
      target: {
        ...SIZE,
        fps: FPS,
        bitrateKbps: 500,
        h264Profile: 'constrained-baseline',
        renderNode: null,
        settings: readMediaSettings({}),
      },
      clock: systemMediaClock,
      events: {
        onCaptured: (frame) => told.push({ in: frame }),
        onFrame: (frame) => {
          told.push({ out: frame });
          if (--left === 0) resolve();
        },
        onError: (source, message) => reject(new Error(`${source}: ${message}`)),
      },
    });
    pipeline.start().catch(reject);
  });
  return told;
}

/** H.264 in software that takes at least so long for a picture. */
function slowed(byMs: number): EncoderRow {
  const row = encoderRow('openh264', 'h264');
  if (!row) throw new Error('the table has no H.264 in software');
  return { ...row, upload: `identity sleep-time=${byMs * 1000}` };
}

describe('frames are told of', () => {
  test('before their packets, each once, with the instant at which they reached the encoder', async () => {
    const told = await run(slowed(QUICK_MS));
    const known = new Map<number | null, CapturedFrame>();
    const encodeMs: number[] = [];
    for (const one of told) {
      if ('in' in one) {
        expect(known.has(one.in.ptsMs)).toBe(false);
        known.set(one.in.ptsMs, one.in);
        continue;
      }
      expect(known.get(one.out.ptsMs)?.arrivedAtMs).toBeGreaterThan(one.out.capturedAtMs);
      encodeMs.push(one.out.encodeMs ?? 0);
    }
    expect(percentile(encodeMs.sort(ascending), 0.5)).toBeGreaterThan(QUICK_MS);
    const ptsMs = [...known.values()].map((frame) => frame.ptsMs);
    expect(ptsMs).toEqual([...ptsMs].sort(ascending));
  });

  test('while the encoder is behind as well, those that its queue gives up among them', async () => {
    const told = await run(slowed(SLOW_MS));
    const arrivals = told.flatMap((one) => ('in' in one ? [one.in.arrivedAtMs] : []));
    // The display gives three in the time of one.
    expect(arrivals.length).toBeGreaterThan(FRAMES * 1.5);
    expect(arrivals).toEqual([...new Set(arrivals)].sort(ascending));
    const encodeMs = told.flatMap((one) => ('out' in one ? [one.out.encodeMs ?? 0] : []));
    expect(percentile(encodeMs.sort(ascending), 0.5)).toBeGreaterThan(SLOW_MS);
  });
});

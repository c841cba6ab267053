import { delay, percentile } from '@footlight/platform';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { XConnection } from '../../display/x11/x-connection.ts';
import { XDrawing } from '../../display/x11/x-drawing.ts';
import { systemMediaClock } from '../session/media-clock.ts';
import { readMediaSettings } from '../session/media-settings.ts';
import { startTestDisplay, type TestDisplay } from '../testing/display.ts';
import { type EncoderRow, encoderRow } from './encoders.ts';
import {
  type CapturedFrame,
  type EncodedFrame,
  VideoPipeline,
  type VideoPipelineEvents,
  type VideoPipelineOptions,
} from './video-pipeline.ts';

const SIZE = { width: 320, height: 240 };
const FPS = 30;
const FRAMES = 20;
/** Number of drawn pictures, each at a different time between two captures. */
const DRAWS = 15;
/** Encode times per picture: one that is fast enough for the frame rate, and one that is too slow. */
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

/** Options of a pipeline for the test's display. @param events handlers; missing handlers do nothing */
function options(row: EncoderRow, fps: number, events: Partial<VideoPipelineEvents>): VideoPipelineOptions {
  return {
    display: display.name,
    row,
    target: {
      ...SIZE,
      fps,
      bitrateKbps: 500,
      h264Profile: 'constrained-baseline',
      renderNode: null,
      settings: readMediaSettings({}),
    },
    clock: systemMediaClock,
    events: { onCaptured: () => undefined, onFrame: () => undefined, onError: () => undefined, ...events },
  };
}

/** Runs until `FRAMES` frames were encoded. @returns the reported events in order */
async function run(row: EncoderRow): Promise<({ in: CapturedFrame } | { out: EncodedFrame })[]> {
  const told: ({ in: CapturedFrame } | { out: EncodedFrame })[] = [];
  await new Promise<void>((resolve, reject) => {
    let left = FRAMES;
    pipeline = new VideoPipeline(
      options(row, FPS, {
        onCaptured: (frame) => told.push({ in: frame }),
        onFrame: (frame) => {
          told.push({ out: frame });
          if (--left === 0) resolve();
        },
        onError: (source, message) => reject(new Error(`${source}: ${message}`)),
      }),
    );
    pipeline.start().catch(reject);
  });
  return told;
}

/** A software H.264 encoder that needs at least this time per picture. */
function slowed(byMs: number): EncoderRow {
  const row = encoderRow('openh264', 'h264');
  if (!row) throw new Error('the table has no H.264 in software');
  return { ...row, upload: `identity sleep-time=${byMs * 1000}` };
}

describe('captured frames are reported', () => {
  test('before their packets, each once, with the time at which they reached the encoder', async () => {
    const told = await run(slowed(QUICK_MS));
    const known = new Map<number | null, CapturedFrame>();
    const encodeMs: number[] = [];
    const untilEncoderMs: number[] = [];
    for (const one of told) {
      if ('in' in one) {
        expect(known.has(one.in.ptsMs)).toBe(false);
        known.set(one.in.ptsMs, one.in);
        continue;
      }
      untilEncoderMs.push((known.get(one.out.ptsMs)?.arrivedAtMs ?? Number.NaN) - one.out.capturedAtMs);
      encodeMs.push(one.out.encodeMs ?? 0);
    }
    // A frame that is read between the tap and the queue has no arrival time yet, so its capture time is used.
    for (const ms of untilEncoderMs) expect(ms).toBeGreaterThanOrEqual(0);
    expect(percentile(untilEncoderMs.sort(ascending), 0.5)).toBeGreaterThan(0);
    expect(percentile(encodeMs.sort(ascending), 0.5)).toBeGreaterThan(QUICK_MS);
    const ptsMs = [...known.values()].map((frame) => frame.ptsMs);
    expect(ptsMs).toEqual([...ptsMs].sort(ascending));
  });

  test('even while the encoder is behind, including frames that its queue drops', async () => {
    const told = await run(slowed(SLOW_MS));
    const arrivals = told.flatMap((one) => ('in' in one ? [one.in.arrivedAtMs] : []));
    // The display is captured about three times while one frame is encoded.
    expect(arrivals.length).toBeGreaterThan(FRAMES * 1.5);
    expect(arrivals).toEqual([...new Set(arrivals)].sort(ascending));
    const encodeMs = told.flatMap((one) => ('out' in one ? [one.out.encodeMs ?? 0] : []));
    expect(percentile(encodeMs.sort(ascending), 0.5)).toBeGreaterThan(SLOW_MS);
  });
});

test('a drawn picture is captured at once, and a display at rest at the frame rate', async () => {
  const frameMs = 50;
  const x = await XConnection.open(display.name, systemMediaClock, () => undefined);
  const drawing = await XDrawing.open(x);
  const gc = x.client.AllocID();
  x.client.CreateGC(gc, x.root, {});
  const frames: EncodedFrame[] = [];
  const row = encoderRow('openh264', 'h264');
  if (!row) throw new Error('the table has no H.264 in software');
  const failures: string[] = [];
  const following = new VideoPipeline(
    options(row, 1000 / frameMs, {
      onFrame: (frame) => frames.push(frame),
      onError: (source, message) => failures.push(`${source}: ${message}`),
    }),
  );
  pipeline = following;
  await following.start();
  const followed = (async () => {
    while (await drawing.next()) await following.captureDrawn();
  })();
  const waitsMs: number[] = [];
  for (let i = 0; i < DRAWS; i++) {
    // Draws at a different time between two captures in each round, after a pause.
    const seen = frames.length;
    await expect.poll(() => frames.length, { interval: 5 }).toBeGreaterThan(seen + 4);
    await delay(systemMediaClock, (i * frameMs) / DRAWS);
    const drawnAtMs = systemMediaClock.monotonicMs();
    x.client.PolyFillRectangle(x.root, gc, [0, 0, 200, 200]);
    const isShown = ({ capturedAtMs }: EncodedFrame) => capturedAtMs > drawnAtMs;
    await expect.poll(() => frames.some(isShown), { interval: 5 }).toBe(true);
    waitsMs.push((frames.find(isShown)?.capturedAtMs ?? Number.NaN) - drawnAtMs);
  }
  x.close();
  await followed;
  expect(failures).toEqual([]);
  // With captures at fixed times, the median would be half a frame time. With this schedule, no picture waits longer
  // than half a frame after a capture.
  expect(percentile([...waitsMs].sort(ascending), 0.5)).toBeLessThan(frameMs / 4);
  const stepsOf = (times: readonly number[]) =>
    times.slice(1).map((time, i) => time - (times[i] ?? Number.NaN));
  const stepsMs = stepsOf(frames.map(({ capturedAtMs }) => capturedAtMs));
  expect(percentile([...stepsMs].sort(ascending), 0.5)).toBeCloseTo(frameMs, -1);
  // For the encoder all frames have the same length, but a viewer gets the capture times.
  for (const ms of stepsOf(frames.map(({ ptsMs }) => ptsMs ?? Number.NaN))) {
    expect(ms / frameMs).toBeCloseTo(Math.round(ms / frameMs), 3);
  }
  stepsOf(frames.map(({ rtpTimestamp }) => rtpTimestamp)).forEach((ticks, i) => {
    expect(ticks / 90).toBeCloseTo(stepsMs[i] ?? Number.NaN, 1);
  });
});

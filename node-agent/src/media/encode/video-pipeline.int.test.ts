import { delay, percentile, type Timer } from '@footlight/platform';
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
const FOLLOWED_WITHIN_MS = 20_000;
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

/** A picture of the test's display. @param events those not given do nothing */
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

/** Runs until `FRAMES` have come out. @returns what was told by then, in the order in which it was told */
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

test('capture moves to just after the moments at which an app draws, and keeps its rate', async () => {
  const frameMs = 25;
  const x = await XConnection.open(display.name, systemMediaClock, () => undefined);
  const drawing = await XDrawing.open(x);
  const gc = x.client.AllocID();
  x.client.CreateGC(gc, x.root, {});
  const frames: EncodedFrame[] = [];
  const drawnAtMs: number[] = [];
  const app: { next: Timer | null } = { next: null };
  function draw() {
    const nowMs = systemMediaClock.monotonicMs();
    drawnAtMs.push(nowMs);
    x.client.PolyFillRectangle(x.root, gc, [0, 0, 200, 200]);
    // By the first capture, because an interval would be later each time; a draw 1 ms after one waits the longest.
    const firstMs = (frames[0]?.capturedAtMs ?? 0) + 1;
    const nextMs = firstMs + frameMs * Math.ceil((nowMs + frameMs / 4 - firstMs) / frameMs);
    app.next = systemMediaClock.setTimeout(draw, nextMs - nowMs);
  }
  const row = encoderRow('openh264', 'h264');
  if (!row) throw new Error('the table has no H.264 in software');
  const failures: string[] = [];
  const following = new VideoPipeline(
    options(row, 1000 / frameMs, {
      onFrame: (frame) => {
        frames.push(frame);
        if (frames.length === 1) draw();
      },
      onError: (source, message) => failures.push(`${source}: ${message}`),
    }),
  );
  pipeline = following;
  await following.start();
  await expect.poll(() => frames.length).toBeGreaterThan(0);
  // A busy machine draws less steadily, which capture follows less closely.
  const until = systemMediaClock.monotonicMs() + FOLLOWED_WITHIN_MS;
  let waitMs = Number.NaN;
  let last: EncodedFrame[] = [];
  while (!(waitMs < frameMs / 2) && systemMediaClock.monotonicMs() < until) {
    following.followDrawing(await drawing.watch(400), 1000);
    await delay(systemMediaClock, 600);
    last = frames.slice(-20);
    const waitsMs = last.map(
      ({ capturedAtMs }) => capturedAtMs - (drawnAtMs.findLast((atMs) => atMs < capturedAtMs) ?? Number.NaN),
    );
    waitMs = percentile(waitsMs.sort(ascending), 0.5) ?? Number.NaN;
  }
  app.next?.cancel();
  x.close();
  expect(failures).toEqual([]);
  expect(waitMs).toBeLessThan(frameMs / 2);
  const stepsMs = frames
    .slice(1)
    .map(({ ptsMs }, i) => (ptsMs ?? Number.NaN) - (frames[i]?.ptsMs ?? Number.NaN));
  stepsMs.sort(ascending);
  expect(stepsMs[0]).toBeGreaterThan(0);
  expect(percentile(stepsMs, 0.5)).toBeCloseTo(frameMs, 0);
});

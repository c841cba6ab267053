import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CaptureSchedule } from './capture-schedule.ts';

const FPS = 60;
const FRAME_MS = 1000 / FPS;

interface Capture {
  atMs: number;
  /** Time between the draw and the capture that shows it; null: nothing was drawn since the previous capture. */
  waitedMs: number | null;
}

/** Captures of a display on which an app draws at the given times, until `untilMs`. */
function captures(drawnAtMs: readonly number[], untilMs: number): Capture[] {
  const schedule = new CaptureSchedule(FPS, 0);
  const made: Capture[] = [];
  let lastMs = 0;
  let draw = 0;
  for (;;) {
    const withoutMs = schedule.nextMs(false);
    const drawnMs = drawnAtMs[draw];
    // Whether an app draws before the next regular capture.
    const isDrawn = drawnMs !== undefined && drawnMs <= withoutMs;
    const atMs = isDrawn ? Math.max(drawnMs, Math.min(schedule.nextMs(true), withoutMs)) : withoutMs;
    if (atMs > untilMs) return made;
    expect(atMs).toBeGreaterThanOrEqual(lastMs);
    made.push({ atMs, waitedMs: isDrawn ? atMs - drawnMs : null });
    while ((drawnAtMs[draw] ?? Number.POSITIVE_INFINITY) <= atMs) draw++;
    schedule.captured(atMs, isDrawn ? drawnMs : null);
    lastMs = atMs;
  }
}

const every = (ms: number, count: number, fromMs = 5) =>
  Array.from({ length: count }, (_, i) => fromMs + i * ms);
const gaps = (made: readonly Capture[]) =>
  made.slice(1).map(({ atMs }, i) => atMs - (made[i]?.atMs ?? Number.NaN));

describe('captures of a display', () => {
  test('nothing is drawn: one each frame time', () => {
    const made = captures([], 1_000);
    expect(made).toHaveLength(FPS);
    for (const gap of gaps(made)) expect(gap).toBeCloseTo(FRAME_MS, 6);
  });

  test('one picture on a display at rest is captured at once, at any moment after half a frame', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (phase) => {
        const [waitedMs] = captures([500 + phase * FRAME_MS], 600)
          .map((capture) => capture.waitedMs)
          .filter((waited) => waited !== null);
        expect(waitedMs).toBeLessThanOrEqual(FRAME_MS / 2);
        expect(waitedMs).toBeLessThanOrEqual(
          Math.max(0, FRAME_MS / 2 - ((phase * FRAME_MS) % FRAME_MS)) + FRAME_MS / 2,
        );
      }),
    );
  });

  test.each([
    ['the stream', FRAME_MS],
    ['16 ms, as many apps do', 16],
    ['a film', 1000 / 24],
    ['a film on television', 1000 / 25],
    ['a screen at 50 Hz', 20],
    ['half the stream', 2 * FRAME_MS],
    ['a third of the stream', 3 * FRAME_MS],
    ['two thirds of the stream', 1.5 * FRAME_MS],
  ])('an app that draws at the pace of %s is captured within two milliseconds', (_, paceMs) => {
    const waited = captures(every(paceMs, 600), 600 * paceMs)
      .slice(2)
      .map(({ waitedMs }) => waitedMs)
      .filter((ms) => ms !== null);
    expect(waited.length).toBeGreaterThan(500);
    expect(waited.filter((ms) => ms > 2)).toEqual([]);
  });

  test('an app that draws at twice the frame rate is captured at the frame rate', () => {
    const made = captures(every(FRAME_MS / 2, 1_200), 10_000);
    expect(made.length).toBeLessThanOrEqual(FPS * 10 * 1.05 + 2);
    expect(made.length).toBeGreaterThanOrEqual(FPS * 10);
  });

  test('for any draws: the rate is kept, no two captures are too close, and no picture waits longer than a frame', () => {
    const drawing = fc.array(fc.double({ min: 0.05, max: 60, noNaN: true }), {
      minLength: 1,
      maxLength: 300,
    });
    fc.assert(
      fc.property(drawing, (steps) => {
        let atMs = 0;
        const drawnAtMs = steps.map((step) => {
          atMs += step;
          return atMs;
        });
        const made = captures(drawnAtMs, atMs + 100);
        for (const gap of gaps(made)) expect(gap).toBeGreaterThan(FRAME_MS / 2 - 1e-6);
        for (const { waitedMs } of made) expect(waitedMs ?? 0).toBeLessThan(FRAME_MS + 1e-6);
        for (let from = 0; from < made.length; from += 10) {
          const firstMs = made[from]?.atMs ?? 0;
          const within = made.filter((one) => one.atMs >= firstMs && one.atMs < firstMs + 500).length;
          expect(within).toBeLessThanOrEqual(0.5 * FPS * 1.05 + 3);
        }
        for (const gap of gaps(made)) expect(gap).toBeLessThan(1.6 * FRAME_MS + 1e-6);
      }),
    );
  });

  test('timers that fire late by up to a quarter of a frame leave the frame rate as it is', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: FRAME_MS / 4, noNaN: true }), { minLength: 60, maxLength: 60 }),
        (late) => {
          const schedule = new CaptureSchedule(FPS, 0);
          let atMs = 0;
          for (const lateMs of late) {
            atMs = schedule.nextMs(false) + lateMs;
            schedule.captured(atMs, null);
          }
          expect(atMs).toBeLessThan(1_000 + FRAME_MS / 4 + 1e-6);
        },
      ),
    );
  });

  test('after a pause there is no burst', () => {
    const schedule = new CaptureSchedule(FPS, 0);
    schedule.captured(500, null);
    expect(schedule.nextMs(false)).toBeCloseTo(500 + FRAME_MS, 6);
  });

  test('a new rate applies from the next capture', () => {
    const schedule = new CaptureSchedule(60, 0);
    schedule.captured(FRAME_MS, null);
    schedule.setRate(30);
    expect(schedule.nextMs(false)).toBeCloseTo(FRAME_MS + 1000 / 30, 6);
  });
});

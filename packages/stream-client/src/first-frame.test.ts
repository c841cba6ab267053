import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { browserEnvironment } from './environment.ts';
import { FirstFrameReport } from './first-frame.ts';
import type { ClockRecord, TraceEvent } from './types.ts';

const CREATED_AT_MS = 1_795_168_860_000;

let told: TraceEvent[];
let record: ClockRecord | null;
/** What the next read of the picture returns, and how long it takes. */
let flat: boolean | null;
let readMs: number;
let reads: number;
let report: FirstFrameReport;

function start(createdAtMs: number | null = CREATED_AT_MS): void {
  report = new FirstFrameReport({
    environment: browserEnvironment(),
    createdAtMs,
    isFlat: async () => {
      reads += 1;
      const found = flat;
      vi.advanceTimersByTime(readMs);
      return found;
    },
    clock: () => record,
    onTrace: (event) => told.push(event),
  });
  report.begin();
}

/** Shows a frame every 20 ms for the given time. */
async function frames(forMs: number): Promise<void> {
  for (const untilMs = performance.now() + forMs; performance.now() < untilMs; ) {
    const atMs = performance.now();
    report.frame({
      width: 1280,
      height: 720,
      atUnixMs: CREATED_AT_MS + atMs,
      atMs,
      offeredAtMs: 900,
    });
    await vi.advanceTimersByTimeAsync(0);
    vi.advanceTimersByTime(20);
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  // The page was loaded a second ago.
  vi.advanceTimersByTime(1_000);
  [told, record, flat, readMs, reads] = [[], { client_offset_ms: 250, uncertainty_ms: 2 }, false, 0, 0];
});
afterEach(() => vi.useRealTimers());

describe('the first picture', () => {
  test('is the first decoded frame, with its times on the clocks of page, host and service', async () => {
    start();
    await frames(100);
    // The page was loaded 1,000 ms earlier, the offer arrived at 900, and the host's clock is 250 ms ahead.
    expect(told).toEqual([
      {
        ts_unix_ms: CREATED_AT_MS + 1_000,
        type: 'client.first_frame',
        payload: {
          since_load_ms: 1_000,
          since_offer_ms: 100,
          since_launch_ms: 1_250,
          width: 1280,
          height: 720,
          flat: false,
        },
      },
    ]);
    expect(reads).toBe(1);
    expect(report.isLooking).toBe(false);
  });

  test('is not the empty display before the app draws', async () => {
    start();
    flat = true;
    await frames(400);
    expect(told).toEqual([]);
    flat = false;
    await frames(100);
    expect(told.map(({ payload }) => payload)).toMatchObject([{ since_load_ms: 1_400, flat: false }]);
  });

  test('of a dark session is reported as flat after ten seconds, and its first picture later', async () => {
    start();
    flat = true;
    await frames(9_990);
    expect(told).toEqual([]);
    await frames(5_000);
    expect(told.map(({ payload }) => payload)).toMatchObject([{ since_load_ms: 1_000, flat: true }]);
    [flat, reads] = [false, 0];
    await frames(1_000);
    expect(told.map(({ payload }) => payload.flat)).toEqual([true, false]);
    expect(reads).toBe(1);
  });

  test('of a session that the person leaves while it is dark is flat', async () => {
    start();
    flat = true;
    await frames(100);
    report.flush();
    expect(told.map(({ payload }) => payload)).toMatchObject([{ since_load_ms: 1_000, flat: true }]);
    report.flush();
    expect(told).toHaveLength(1);
  });

  test('that cannot be read counts as not flat', async () => {
    start();
    flat = null;
    await frames(20);
    expect(told.map(({ payload }) => payload.flat)).toEqual([false]);
  });

  test.each([
    [3, 3_900, 63, 'a twentieth of the page’s time'],
    [30, 1_300, 10, 'ten a second on a slow page'],
  ])('is searched with reads of %s ms: in %s ms at most %s reads, %s', async (takesMs, forMs, atMost) => {
    start();
    flat = true;
    readMs = takesMs;
    await frames(forMs);
    expect(reads).toBeLessThanOrEqual(atMost);
    expect(reads).toBeGreaterThan(atMost * 0.7);
  });

  test('is reported once per connect()', async () => {
    start();
    await frames(20);
    report.begin();
    await frames(20);
    expect(told).toHaveLength(2);
  });
});

describe('the time since the launch', () => {
  test('waits for the clock', async () => {
    start();
    record = null;
    await frames(1_000);
    expect(told).toEqual([]);
    report.measured({ client_offset_ms: -40, uncertainty_ms: 1 });
    expect(told.map(({ payload }) => payload)).toMatchObject([{ since_launch_ms: 960 }]);
  });

  test('is left out if the clock is not measured in three seconds or the page leaves earlier', async () => {
    start();
    record = null;
    await frames(20);
    await vi.advanceTimersByTimeAsync(2_990);
    expect(told).toHaveLength(1);
    report.begin();
    await frames(20);
    report.flush();
    expect(told).toHaveLength(2);
    for (const { payload } of told) expect(payload).not.toHaveProperty('since_launch_ms');
  });

  test('is left out, without a wait, when the launch time is unknown', async () => {
    start(null);
    record = null;
    await frames(20);
    expect(told[0]?.payload).not.toHaveProperty('since_launch_ms');
  });
});

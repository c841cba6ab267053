// @vitest-environment happy-dom
import { CLIENT_METRIC_KEYS, type ClientMetrics } from '@footlight/protocol/telemetry';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ShownFrame } from '../media/picture.ts';
import type { StreamStats } from '../types.ts';
import { Meter } from './meter.ts';

/** Counters of the connection one second later. */
let counters: Record<string, number>;
let nowMs: number;
let tick: () => void;
let animate: ((frameMs: number) => void)[];
let told: StreamStats[];
let freezes: number[];
let playout: [number, number][];
let isHidden: boolean;
let silences: number;
let meter: Meter;

const COUNTERS = {
  framesDecoded: 60,
  bytesReceived: 500_000,
  packetsReceived: 500,
  packetsLost: 3,
  framesDropped: 2,
  freezeCount: 1,
  totalDecodeTime: 0.18,
  jitterBufferDelay: 0.6,
  jitterBufferTargetDelay: 1.2,
  jitterBufferEmittedCount: 60,
};

/** A full browser report, after `seconds` of identical seconds. */
const after = (seconds: number) =>
  Object.fromEntries(Object.entries(COUNTERS).map(([key, value]) => [key, value * seconds]));

function report(): Map<string, object> {
  return new Map(
    [
      { id: 'v', type: 'inbound-rtp', kind: 'video', codecId: 'c', jitter: 0.004, ...counters },
      { id: 'c', type: 'codec', mimeType: 'video/H264' },
      { id: 'other', type: 'candidate-pair', nominated: true, currentRoundTripTime: 9 },
      {
        id: 'p',
        type: 'candidate-pair',
        nominated: true,
        currentRoundTripTime: 0.012,
        bytesReceived: counters.pathBytes,
      },
      { id: 't', type: 'transport', selectedCandidatePairId: 'p' },
    ].map((entry) => [entry.id, entry]),
  );
}

const connection = { getStats: async () => report() } as unknown as RTCPeerConnection;

/** Advances the clock by a second. */
async function second(): Promise<ClientMetrics | undefined> {
  const before = told.length;
  await halfSecond();
  await halfSecond();
  return told[before]?.metrics;
}

async function halfSecond(): Promise<void> {
  nowMs += 500;
  tick();
  // Runs the pending promises of the report.
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
}

/** Shows frames at these intervals after the last one. */
let shownMs: number;
function frames(intervals: readonly number[], frame: Partial<ShownFrame> = {}): void {
  for (const interval of intervals) {
    shownMs += interval;
    meter.frame({
      mediaTime: shownMs,
      displayMs: shownMs,
      captureToDisplayMs: 40,
      receivedMs: shownMs - 20,
      decodeMs: 3,
      rtpTimestamp: (shownMs * 90) >>> 0,
      width: 1280,
      height: 720,
      ...frame,
    });
  }
}

/** The host reports a frame. */
const timed = (encode_ms: number) => meter.timed({ rtp_timestamp: 0, capture_ms: 0, encode_ms });

beforeEach(() => {
  counters = after(0);
  [nowMs, shownMs, isHidden, silences] = [1_000, 1_000, false, 0];
  [animate, told, freezes, playout] = [[], [], [], []];
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden });
  vi.stubGlobal('requestAnimationFrame', (callback: FrameRequestCallback) => animate.push(callback));
  vi.stubGlobal('cancelAnimationFrame', () => undefined);
  const environment = {
    nowUnixMs: () => 1_795_168_860_000 + nowMs,
    monotonicMs: () => nowMs,
    setInterval: (run: () => void, everyMs: number) => {
      if (everyMs === 500) tick = run;
      return { cancel: () => undefined };
    },
  };
  meter = new Meter(environment, {
    measured: () => ({ connection, captureTimeNegotiated: true }),
    targetFps: () => 60,
    clock: () => null,
    onStats: (stats) => told.push(stats),
    onDecoded: () => undefined,
    onStuck: () => undefined,
    onSilent: () => {
      silences += 1;
    },
    onFreeze: (gapMs) => freezes.push(gapMs),
    onPlayoutChange: (fromMs, toMs) => playout.push([fromMs, toMs]),
  });
});

afterEach(() => {
  meter.dispose();
  vi.unstubAllGlobals();
  Reflect.deleteProperty(document, 'hidden');
});

describe('a second of the stream', () => {
  test('has every key, in its unit and by its estimator', async () => {
    // The display: 24 frames at 50 Hz, one of them late.
    for (let frame = 0; frame <= 24; frame += 1) animate.shift()?.(frame * 20 + (frame === 10 ? 15 : 0));
    await second();
    counters = after(1);
    meter.clicks.press(1, shownMs);
    frames([0]);
    frames(Array(8).fill(20));
    frames([40, 60]);
    meter.clicks.contained(1, ((shownMs - 60) * 90) >>> 0);
    timed(7);
    timed(4.2);
    expect(await second()).toEqual({
      fps: 60,
      bitrate_kbps: 4_000,
      rtt_ms: 12,
      jitter_ms: 4,
      jitter_buffer_ms: 10,
      decode_ms: 3,
      packets_lost: 3,
      frames_dropped: 2,
      freeze_count: 1,
      present_n: 10,
      present_fps: 38.462,
      present_fps_median: 50,
      present_interval_median_ms: 20,
      // Intervals: eight of 20, one of 40, one of 60. The mean is 26, the squares are 36 × 8 + 196 + 1,156.
      present_interval_sd_ms: Number(Math.sqrt((36 * 8 + 196 + 1_156) / 10).toFixed(3)),
      present_interval_p95_ms: 51,
      present_interval_max_ms: 60,
      present_beat_fraction: 0.1,
      present_long_frames: 1,
      display_refresh_hz: 50,
      playout_target_ms: 20,
      is_hidden: false,
      rvfc_capture_time_available: true,
      abs_capture_time_negotiated: true,
      rvfc_capture_to_display_ms: 40,
      glass_to_glass_ms: 40,
      network_pacing_ms: 6,
      decode_display_ms: 24,
      click_to_photon_ms: 200,
      click_to_photon_n: 1,
      encode_ms: 4.2,
    });
    expect(Object.keys(told[0]?.metrics ?? {}).sort()).toEqual([...CLIENT_METRIC_KEYS].sort());
  });

  test('omits what was not measured; totals stay', async () => {
    counters = after(1);
    await second();
    expect(await second()).toEqual({
      fps: 0,
      bitrate_kbps: 0,
      rtt_ms: 12,
      jitter_ms: 4,
      packets_lost: 3,
      frames_dropped: 2,
      freeze_count: 1,
      present_n: 0,
      is_hidden: false,
      rvfc_capture_time_available: false,
      abs_capture_time_negotiated: true,
      network_pacing_ms: 6,
    });
  });

  test('contains no frames and presses of earlier seconds', async () => {
    frames(Array(9).fill(20));
    timed(4);
    await second();
    frames(Array(6).fill(10));
    expect(await second()).toMatchObject({ present_n: 6, present_interval_max_ms: 10 });
    expect(await second()).not.toHaveProperty('encode_ms');
  });

  test('reports whether the newest frame has a capture time, also while no frame arrives', async () => {
    await second();
    frames([20]);
    expect(await second()).toMatchObject({ rvfc_capture_time_available: true });
    expect(await second()).toMatchObject({ rvfc_capture_time_available: true });
    frames([20], { captureToDisplayMs: null });
    expect(await second()).toMatchObject({ rvfc_capture_time_available: false });
  });

  test('has no click to photon in a browser without RTP time stamps', async () => {
    await second();
    meter.clicks.press(1, shownMs);
    meter.clicks.contained(1, 0);
    frames([20, 20], { rtpTimestamp: null });
    const metrics = await second();
    expect(metrics).not.toHaveProperty('click_to_photon_ms');
    expect(metrics).not.toHaveProperty('click_to_photon_n');
  });

  test('of a hidden page counts no frame, freeze or press across the hidden time', async () => {
    await second();
    frames(Array(10).fill(20));
    meter.clicks.press(1, shownMs);
    meter.clicks.contained(1, ((shownMs + 20) * 90) >>> 0);
    isHidden = true;
    meter.interrupt();
    expect(await second()).toMatchObject({ is_hidden: true, present_n: 9 });
    isHidden = false;
    meter.interrupt();
    frames([600_000, 20]);
    expect(await second()).toMatchObject({ is_hidden: false, present_n: 1 });
    expect(told.some(({ metrics }) => 'click_to_photon_n' in metrics)).toBe(false);
    expect(freezes).toEqual([]);
  });

  test('of a new connection starts without the frames of the previous one', async () => {
    await second();
    frames(Array(10).fill(20));
    meter.reset();
    await second();
    frames([500, 20]);
    expect(await second()).toMatchObject({ present_n: 1 });
  });
});

describe('events of the stream', () => {
  test('a second in which nothing arrives is silent, even if only one byte arrived before', async () => {
    await second();
    await second();
    expect(silences).toBe(0);
    counters = { ...counters, pathBytes: 1 };
    await second();
    expect(silences).toBe(0);
    await halfSecond();
    expect(silences).toBe(1);
  });

  test('a silence that begins at any moment is found within one and a half seconds', async () => {
    for (const offsetMs of [0, 1, 250, 499]) {
      counters = { ...counters, pathBytes: (counters.pathBytes ?? 0) + 1 };
      await halfSecond();
      const lastMs = nowMs - 500 + offsetMs;
      silences = 0;
      while (silences === 0) await halfSecond();
      expect(nowMs - lastMs).toBeLessThanOrEqual(1_500);
      expect(nowMs - lastMs).toBeGreaterThanOrEqual(1_000);
    }
  });

  test('half a second without packets is no silence', async () => {
    for (let bytes = 1; bytes < 10; bytes += 1) {
      counters = { ...counters, pathBytes: bytes };
      await second();
    }
    expect(silences).toBe(0);
  });

  test('a gap between frames is a freeze from three times the usual gap and 150 ms more', async () => {
    frames(Array(10).fill(20));
    frames([169]);
    expect(freezes).toEqual([]);
    frames(Array(30).fill(20));
    frames([170]);
    expect(freezes).toEqual([170]);
  });

  test('a new playout delay is reported if it differs by 10 ms from the last reported one', async () => {
    const target = async (ms: number) => {
      const { jitterBufferTargetDelay = 0, jitterBufferEmittedCount = 0 } = counters;
      counters = {
        jitterBufferTargetDelay: jitterBufferTargetDelay + ms * 0.06,
        jitterBufferEmittedCount: jitterBufferEmittedCount + 60,
      };
      await second();
    };
    counters = { jitterBufferTargetDelay: 0, jitterBufferEmittedCount: 0 };
    await second();
    for (const ms of [20, 29, 31, 30, 50]) await target(ms);
    expect(playout.map(([from, to]) => [Math.round(from), Math.round(to)])).toEqual([
      [20, 31],
      [31, 50],
    ]);
  });
});

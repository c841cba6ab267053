import { describe, expect, test } from 'vitest';
import { ClickToPhoton } from './click-to-photon.ts';
import { ClockOffset } from './clock-offset.ts';
import { deviation, median, percentile } from './numbers.ts';
import { FreezeDetector, Presentation } from './presentation.ts';
import { judgeHealth, judgeQuality, type SecondFacts } from './quality.ts';
import { compare, type RawSample, readReport, StuckDetector } from './report.ts';

describe('numbers', () => {
  test.each([
    [[1, 2, 3, 4], 0.5, 2.5],
    [[4, 1, 3, 2], 0.95, 3.85],
    [[7], 0.95, 7],
    [[], 0.5, null],
  ])('percentile of %j at %d is %d', (values, fraction, expected) => {
    const result = percentile(values, fraction);
    if (expected === null) expect(result).toBeNull();
    else expect(result).toBeCloseTo(expected);
  });

  test('median and deviation', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(deviation([2, 4, 4, 4, 5, 5, 7, 9])).toBe(2);
    expect(deviation([])).toBeNull();
  });
});

describe('the clock offset', () => {
  /** A pong of a host whose clock is ahead by `ahead`, over a way of `there` and `back` ms. */
  const pong = (sentMs: number, ahead: number, there: number, back: number) => ({
    answer: { client_ms: sentMs, receive_ms: sentMs + ahead + there, send_ms: sentMs + ahead + there + 1 },
    receivedMs: sentMs + there + 1 + back,
  });

  test('the smallest round trip of eight decides', () => {
    const clock = new ClockOffset();
    const told = [];
    for (const [index, way] of [20, 9, 4, 12, 30, 8, 15, 10].entries()) {
      const { answer, receivedMs } = pong(index * 200, 500, way, way);
      told.push(clock.add(answer, receivedMs, index * 200));
    }
    expect(told.slice(0, 7)).toEqual(Array(7).fill(null));
    expect(told[7]).toEqual({ client_offset_ms: 500, uncertainty_ms: 4 });
  });

  test('an uneven way is wrong by at most the uncertainty', () => {
    const clock = new ClockOffset();
    const { answer, receivedMs } = pong(0, 1000, 10, 2);
    clock.add(answer, receivedMs, 0);
    const record = clock.record;
    expect(Math.abs((record?.client_offset_ms ?? 0) - 1000)).toBeLessThanOrEqual(record?.uncertainty_ms ?? 0);
  });

  test('impossible round trips are left out', () => {
    const clock = new ClockOffset();
    expect(clock.add({ client_ms: 100, receive_ms: 0, send_ms: 0 }, 50, 0)).toBeNull();
    expect(clock.add({ client_ms: 0, receive_ms: 0, send_ms: 0 }, 5_001, 0)).toBeNull();
    expect(clock.record).toBeNull();
  });

  test('told again after a minute, or when it moved', () => {
    const clock = new ClockOffset();
    const add = (atMs: number, ahead: number, way: number) => {
      const { answer, receivedMs } = pong(atMs, ahead, way, way);
      return clock.add(answer, receivedMs, atMs);
    };
    for (let index = 0; index < 8; index += 1) add(index, 500, 5);
    expect(add(1_000, 500, 5)).toBeNull();
    expect(add(2_000, 510, 1)).toMatchObject({ client_offset_ms: 510 });
    expect(add(3_000, 510, 1)).toBeNull();
    expect(add(62_500, 510, 1)).not.toBeNull();
    clock.reset();
    expect(clock.record).toBeNull();
  });
});

describe('presentation', () => {
  const shown = (intervals: number[]) => {
    const presentation = new Presentation();
    let displayMs = 0;
    presentation.add({ mediaTime: 0, displayMs, captureToDisplayMs: 30 });
    for (const [index, interval] of intervals.entries()) {
      displayMs += interval;
      presentation.add({ mediaTime: index + 1, displayMs, captureToDisplayMs: 30 + index });
    }
    return presentation.take();
  };

  test('an even second', () => {
    expect(shown(Array(60).fill(10))).toMatchObject({
      present_n: 60,
      present_fps_median: 100,
      present_interval_sd_ms: 0,
      present_beat_fraction: 0,
      present_long_frames: 0,
      rvfc_capture_time_available: true,
    });
  });

  test('doubled and long intervals are counted', () => {
    const metrics = shown([10, 10, 10, 10, 20, 10, 21, 10, 30]);
    expect(metrics.present_beat_fraction).toBeCloseTo(2 / 9);
    expect(metrics.present_long_frames).toBe(1);
    expect(metrics.present_interval_max_ms).toBe(30);
  });

  test('below five intervals only their number is told', () => {
    const metrics = shown([10, 10, 10]);
    expect(metrics.present_n).toBe(3);
    expect(metrics.present_fps_median).toBeUndefined();
  });

  test('the same frame twice is no interval', () => {
    const presentation = new Presentation();
    presentation.add({ mediaTime: 1, displayMs: 0, captureToDisplayMs: null });
    expect(presentation.add({ mediaTime: 1, displayMs: 16, captureToDisplayMs: null })).toBeNull();
    expect(presentation.take()).toEqual({ present_n: 0, rvfc_capture_time_available: false });
  });

  test('a freeze is three times the usual and 150 ms more', () => {
    const freezes = new FreezeDetector();
    const steady = Array.from({ length: 10 }, () => freezes.add(16));
    expect(steady).not.toContain(true);
    expect(freezes.add(160)).toBe(false);
    expect(freezes.add(400)).toBe(true);
  });
});

describe('click to photon', () => {
  test('names the frame before it is shown', () => {
    const clicks = new ClickToPhoton();
    clicks.press(9, 1000);
    clicks.contained(9, 87_000);
    clicks.frame(84_000, 1010);
    clicks.frame(87_000, 1030);
    expect(clicks.take()).toEqual({ click_to_photon_ms: 30, click_to_photon_n: 1 });
    expect(clicks.take()).toBeNull();
  });

  test('names the frame after it was shown', () => {
    const clicks = new ClickToPhoton();
    clicks.press(1, 1000);
    clicks.frame(87_000, 1020);
    clicks.frame(90_000, 1036);
    clicks.contained(1, 88_000);
    expect(clicks.take()?.click_to_photon_ms).toBe(36);
  });

  test('RTP time stamps wrap', () => {
    const clicks = new ClickToPhoton();
    clicks.press(1, 0);
    clicks.contained(1, 0xffff_fff0);
    clicks.frame(16, 40);
    expect(clicks.take()?.click_to_photon_ms).toBe(40);
  });

  test('a press that no timing message names is not counted', () => {
    const clicks = new ClickToPhoton();
    clicks.press(1, 0);
    clicks.contained(2, 90_000);
    clicks.frame(90_000, 40);
    expect(clicks.take()).toBeNull();
  });
});

const sample = (values: Partial<RawSample>): RawSample => ({
  ...readReport([], 0),
  ...values,
});

describe('one second of counters', () => {
  test('finds video, codec and the path in use', () => {
    const raw = readReport(
      [
        { id: 'a', type: 'inbound-rtp', kind: 'audio', framesDecoded: 1 },
        {
          id: 'v',
          type: 'inbound-rtp',
          kind: 'video',
          codecId: 'c',
          framesDecoded: 60,
          frameWidth: 1280,
          frameHeight: 720,
        },
        { id: 'c', type: 'codec', mimeType: 'video/H264' },
        { id: 'p', type: 'candidate-pair', currentRoundTripTime: 0.012 },
        { id: 't', type: 'transport', selectedCandidatePairId: 'p' },
      ],
      1000,
    );
    expect(raw).toMatchObject({ framesDecoded: 60, width: 1280, mimeType: 'video/H264', rtt: 0.012 });
  });

  test('steps become rates, totals stay totals', () => {
    const before = sample({
      atMs: 0,
      framesDecoded: 10,
      bytesReceived: 0,
      packetsReceived: 0,
      packetsLost: 1,
    });
    const after = sample({
      atMs: 1000,
      framesDecoded: 70,
      bytesReceived: 125_000,
      packetsReceived: 95,
      packetsLost: 6,
      framesDropped: 2,
      jitter: 0.003,
      rtt: 0.02,
    });
    const second = compare(before, after);
    expect(second.metrics).toEqual({
      fps: 60,
      bitrate_kbps: 1000,
      rtt_ms: 20,
      jitter_ms: 3,
      packets_lost: 6,
      frames_dropped: 2,
    });
    expect(second.loss).toBeCloseTo(0.05);
  });

  test('what the browser does not measure is absent, also over a restart of the counters', () => {
    expect(compare(sample({ atMs: 0 }), sample({ atMs: 1000 })).metrics).toEqual({});
    const restarted = compare(
      sample({ atMs: 0, framesDecoded: 100 }),
      sample({ atMs: 1000, framesDecoded: 3 }),
    );
    expect(restarted.metrics.fps).toBeUndefined();
  });

  test('stuck means five seconds of packets without a picture, once', () => {
    const stuck = new StuckDetector();
    const still = { metrics: {}, loss: null, dropped: 0, freezes: 0, decoded: 0, packets: 100 };
    const verdicts = [1, 2, 3, 4, 5].map((second) => stuck.add(still, second * 1000, false));
    expect(verdicts).toEqual([false, false, false, false, true]);
    expect(stuck.add(still, 6000, false)).toBe(false);
  });

  test('silence, a hidden page and a moving picture are not stuck', () => {
    const stuck = new StuckDetector();
    const still = { metrics: {}, loss: null, dropped: 0, freezes: 0, decoded: 0, packets: 100 };
    for (let second = 1; second < 20; second += 1) {
      expect(stuck.add({ ...still, packets: 0 }, second * 1000, false)).toBe(false);
      expect(stuck.add(still, second * 1000, true)).toBe(false);
      expect(stuck.add({ ...still, decoded: 60 }, second * 1000, false)).toBe(false);
    }
  });
});

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

import { ManualClock } from '@footlight/platform/testing';
import { afterEach, describe, expect, test } from 'vitest';
import type { EncodedFrame } from '../encode/video-pipeline.ts';
import { SimulatedPath } from '../testing/simulated-path.ts';
import { testStream } from '../testing/stream.ts';
import { PeerMedia } from '../viewer/peer-media.ts';
import { readMediaSettings } from './media-settings.ts';
import { SessionRate } from './session-rate.ts';

/**
 * Tests all of rate control in simulated time: a model of an encoder that fills its target, the real sender and
 * controller, and a link (with a queue of 60 kB) that becomes slow and then fast again.
 */

const FPS = 60;
const LAUNCH_KBPS = 4500;
const PACKET_BYTES = 1180;

interface Bench {
  path: SimulatedPath;
  rate: SessionRate;
  nowMs(): number;
  /** Setpoints in order, each with its start time, in kbit/s. */
  setpoints: { atMs: number; kbps: number }[];
  keyframesAtMs: number[];
  events: { name: string; payload: Record<string, unknown> }[];
  pictures: { width: number; height: number; fps: number }[];
  run(ms: number): void;
  /** Arrival times of complete frames since a given time. */
  framesSince(ms: number): number[];
}

let running: { rate: SessionRate; media: PeerMedia } | null = null;

afterEach(() => {
  running?.rate.close();
  running?.media.close();
  running = null;
});

function build(settings: Record<string, unknown> = {}, limitBytes = 60_000): Bench {
  const clock = new ManualClock();
  const path = new SimulatedPath({ kbps: 5000, limitBytes, nowMs: clock.monotonicMs(), random: seeded(7) });
  const stream = testStream({
    fps: FPS,
    bitrate_kbps: LAUNCH_KBPS,
    rungs: [
      [1280, 720],
      [960, 540],
      [640, 360],
    ],
  });
  let wantsKeyframe = false;
  let targetKbps = LAUNCH_KBPS;
  let fps = FPS;
  const media = new PeerMedia({
    stream,
    clock,
    cname: 'viewer',
    random32: () => 7,
    video: { track: path.track, ssrc: 1 },
    audio: null,
    onKeyframeWanted: () => {
      wantsKeyframe = true;
    },
  });
  const bench: Bench = {
    path,
    nowMs: () => clock.monotonicMs(),
    setpoints: [],
    keyframesAtMs: [],
    events: [],
    pictures: [],
    rate: new SessionRate({
      settings: readMediaSettings(settings),
      stream,
      effortSteps: 0,
      clock,
      setBitrate: (kbps) => {
        targetKbps = kbps;
        media.setRate(kbps);
        bench.setpoints.push({ atMs: clock.monotonicMs(), kbps });
      },
      setPicture: (picture) => {
        fps = picture.fps;
        bench.pictures.push(picture);
      },
      forceKeyframe: () => {
        wantsKeyframe = true;
      },
      path: { hold: () => media.hold(), probe: (kbps) => media.path.probe(kbps) },
      event: (name, payload) => bench.events.push({ name, payload }),
      onQueue: () => undefined,
    }),
    run(ms) {
      for (let i = 0; i < ms; i++) {
        clock.advance(1);
        path.advance();
        const nowMs = clock.monotonicMs();
        if (nowMs >= nextFrameMs) {
          nextFrameMs += 1000 / fps;
          const isKey = wantsKeyframe;
          wantsKeyframe = false;
          // A keyframe has four times the bytes of an ordinary frame.
          const bytes = (targetKbps * 125 * (isKey ? 4 : 1)) / fps;
          if (isKey) bench.keyframesAtMs.push(nowMs);
          media.sendFrame(modelFrame(bytes, isKey, nowMs));
        }
      }
    },
    framesSince: (sinceMs) => wholeFrames(path, sinceMs),
  };
  let nextFrameMs = clock.monotonicMs();
  media.path.listener = bench.rate;
  media.accept(new Set(['transportSequence']), null);
  media.start();
  running = { rate: bench.rate, media };
  return bench;
}

function modelFrame(bytes: number, isKey: boolean, nowMs: number): EncodedFrame {
  const count = Math.max(1, Math.ceil(bytes / PACKET_BYTES));
  const packets = Array.from({ length: count }, (_, i) => {
    const packet = Buffer.alloc(12 + Math.max(20, Math.min(PACKET_BYTES, Math.round(bytes / count))));
    packet[0] = 0x80;
    packet[1] = (i === count - 1 ? 0x80 : 0) | 96;
    packet.writeUInt32BE((nowMs * 90) >>> 0, 4);
    packet[12] = isKey ? 0x65 : 0x41;
    return packet;
  });
  const times = { rtpTimestamp: (nowMs * 90) >>> 0, ptsMs: nowMs, capturedAtMs: nowMs, encodeMs: 3 };
  return { packets, coded: packets, ...times, bytes };
}

/** Arrival times of the complete frames, whose packets have all arrived. */
function wholeFrames(path: SimulatedPath, sinceMs: number): number[] {
  const times: number[] = [];
  let expected: number | null = null;
  let broken = false;
  for (const packet of path.delivered) {
    if (expected !== null && packet.sequence !== expected) broken = true;
    expected = (packet.sequence + 1) & 0xffff;
    if (packet.isPadding || !packet.marker) continue;
    if (!broken && packet.atMs >= sinceMs) times.push(packet.atMs);
    broken = false;
  }
  return times;
}

function longestGap(times: readonly number[], fromMs: number, toMs: number): number {
  const all = [fromMs, ...times.filter((at) => at <= toMs), toMs];
  return Math.max(...all.slice(1).map((at, i) => at - (all[i] ?? at)));
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
}

describe('a link that falls from 5 to 0.5 Mbit/s and comes back', () => {
  test('the rate falls below the link’s at once, pictures continue, and the rate returns', () => {
    const bench = build();
    bench.run(4_000);
    expect(bench.rate.setpointKbps).toBe(LAUNCH_KBPS);
    expect(bench.setpoints).toEqual([]);

    const downAtMs = bench.nowMs();
    bench.path.kbps = 500;
    bench.run(10_000);
    const down = bench.setpoints.filter(({ atMs }) => atMs > downAtMs);
    const upAtMs = bench.nowMs();
    bench.path.kbps = 5000;
    bench.run(8_000);
    const back = bench.setpoints.find(({ atMs, kbps }) => atMs > upAtMs && kbps >= 0.9 * LAUNCH_KBPS);
    expect(down[0]?.atMs).toBeLessThan(downAtMs + 300);
    expect(down[0]?.kbps).toBeLessThan(500);
    expect(longestGap(bench.framesSince(downAtMs), downAtMs, upAtMs)).toBeLessThan(500);
    expect(back?.atMs).toBeLessThan(upAtMs + 4_000);
  });

  test('there is one keyframe after the pause, and later packets have no gap in their numbers', () => {
    const bench = build();
    bench.run(4_000);
    const downAtMs = bench.nowMs();
    bench.path.kbps = 500;
    bench.run(6_000);
    expect(bench.keyframesAtMs.filter((at) => at > downAtMs)).toHaveLength(1);
    const numbers = bench.path.delivered.map(({ sequence }) => sequence);
    const jumps = numbers.slice(1).filter((number, i) => number !== (((numbers[i] ?? 0) + 1) & 0xffff));
    expect(jumps).toEqual([]);
  });

  test('pictures continue even if the end of the queue was lost', () => {
    const bench = build({}, 20_000);
    bench.run(4_000);
    const downAtMs = bench.nowMs();
    bench.path.kbps = 500;
    bench.run(8_000);
    expect(bench.path.dropped).toBeGreaterThan(0);
    expect(longestGap(bench.framesSince(downAtMs), downAtMs, bench.nowMs())).toBeLessThan(1_000);
  });

  test('losses of the full queue do not lower the estimate again, however often they are reported', () => {
    const bench = build({}, 20_000);
    bench.run(4_000);
    bench.path.kbps = 500;
    bench.run(8_000);
    expect(bench.path.dropped).toBeGreaterThan(0);
    expect(Math.min(...bench.setpoints.map(({ kbps }) => kbps))).toBeGreaterThan(350);
  });

  test('it also works with a busy receiver that reads late and in batches', () => {
    const bench = build();
    bench.path.busyMs = 30;
    bench.run(10_000);
    expect(bench.setpoints).toEqual([]);
    const downAtMs = bench.nowMs();
    bench.path.kbps = 500;
    bench.run(8_000);
    const down = bench.setpoints.filter(({ atMs }) => atMs > downAtMs);
    expect(down[0]?.atMs).toBeLessThan(downAtMs + 300);
    expect(Math.min(...down.map(({ kbps }) => kbps))).toBeGreaterThan(300);
    expect(longestGap(bench.framesSince(downAtMs), downAtMs, bench.nowMs())).toBeLessThan(600);
  });

  test('with the ladder on, size and frame rate are reduced with the same keyframe', () => {
    const bench = build({
      abr_ladder_resolution: true,
      abr_ladder_fps: true,
      abr_ladder_res_min_height: 360,
    });
    bench.run(4_000);
    bench.path.kbps = 500;
    bench.run(3_000);
    expect(bench.pictures[0]).toMatchObject({ width: 640, height: 360, fps: 30 });
    expect(bench.rate.metrics()).toMatchObject({
      abr_mode: 'smooth',
      adaptation_state: 'network_congested',
      stream_width: 640,
      stream_height: 360,
      ladder_res_rung: 2,
      ladder_fps: 30,
      // 0.3 × 4500 kbit/s for a quarter of the pixels.
      abr_floor_kbps: 338,
    });
  });

  test('with the mode off nothing changes', () => {
    const bench = build({ abr_mode: 'off', abr_ladder_resolution: true });
    bench.run(4_000);
    bench.path.kbps = 500;
    bench.run(4_000);
    expect(bench.setpoints).toEqual([]);
    expect(bench.pictures).toEqual([]);
    expect(bench.rate.metrics()).not.toHaveProperty('abr_setpoint_kbps');
  });
});

describe('a link that is good', () => {
  test('changes nothing', () => {
    const bench = build();
    bench.run(20_000);
    expect(bench.events).toEqual([]);
    expect(bench.rate.metrics()).toMatchObject({
      adaptation_state: 'healthy',
      abr_setpoint_kbps: LAUNCH_KBPS,
    });
  });

  test('and loses a packet in twenty: the rate stays', () => {
    const bench = build();
    bench.path.loss = 0.05;
    bench.run(20_000);
    expect(bench.rate.setpointKbps).toBe(LAUNCH_KBPS);
  });
});

test('before the first viewer the path is unknown, and the setpoint is the launch bitrate', () => {
  const bench = build();
  expect(bench.rate.metrics()).toEqual({
    abr_mode: 'smooth',
    adaptation_state: 'unknown',
    abr_setpoint_kbps: LAUNCH_KBPS,
  });
});

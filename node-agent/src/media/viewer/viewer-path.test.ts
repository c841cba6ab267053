import { ManualClock } from '@footlight/platform/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import type { PacketArrival } from '../rtp/rtcp.ts';
import { ViewerPath } from './viewer-path.ts';

const PADDING_BYTES = 255;

let clock: ManualClock;
let path: ViewerPath;
let events: string[];
let sequence: number;
/** Whether padding may be sent; false: a picture waits to be sent. */
let canPad: boolean;

/** Simulates that a packet of the picture was sent. */
const send = (bytes = 1_200) => path.sent(sequence++, bytes);
/** Simulates feedback about all packets since `from`: each arrived `delayMs` after it was sent. */
const hear = (from = 0, delayMs = 20) => {
  const arrivals: PacketArrival[] = [];
  for (let number = from; number < sequence; number++) {
    arrivals.push({ sequence: number, receivedAtMs: clock.monotonicMs() + delayMs });
  }
  path.onTransport(arrivals, clock.monotonicMs());
};

beforeEach(() => {
  clock = new ManualClock();
  events = [];
  sequence = 0;
  canPad = true;
  path = new ViewerPath({
    launchKbps: 8_000,
    audio: true,
    clock,
    sendPadding: () => {
      if (canPad) send(PADDING_BYTES);
      return canPad;
    },
    onDrained: () => events.push('needs a keyframe'),
  });
  path.listener = {
    onPath: () => undefined,
    onDrained: () => events.push('drained'),
    onProbed: ({ clean, receivedKbps }) => events.push(`probed ${clean} ${Math.round(receivedKbps / 1000)}`),
  };
  path.start();
});

describe('a hold', () => {
  test('ends when feedback shows the queue empty, and the next picture is a keyframe', () => {
    for (let count = 0; count < 100; count++) send();
    path.hold();
    expect(path.isHeld).toBe(true);
    clock.advance(30);
    expect(events).toEqual([]);
    hear();
    clock.advance(10);
    expect(path.isHeld).toBe(false);
    expect(events).toEqual(['needs a keyframe', 'drained']);
  });

  test('ends by itself without further feedback', () => {
    for (let count = 0; count < 4_000; count++) send();
    path.hold();
    clock.advance(90);
    expect(path.isHeld).toBe(true);
    clock.advance(10);
    expect(path.isHeld).toBe(false);
  });

  test('ends a probe without a result', () => {
    path.probe(20_000);
    path.hold();
    clock.advance(1_000);
    expect(events).toEqual(['needs a keyframe', 'drained']);
  });
});

describe('a probe', () => {
  test('fills up with padding to its rate', () => {
    path.probe(8_000);
    clock.advance(100);
    // 8 Mbit/s for 100 ms are 100,000 bytes.
    expect(sequence * PADDING_BYTES).toBeGreaterThan(90_000);
    expect(sequence * PADDING_BYTES).toBeLessThanOrEqual(102_000);
  });

  test('sends no padding while a picture waits', () => {
    canPad = false;
    path.probe(8_000);
    clock.advance(100);
    expect(sequence).toBe(0);
  });

  test('is not clean without feedback', () => {
    path.probe(8_000);
    clock.advance(2_000);
    expect(events).toEqual(['probed false 0']);
  });
});

describe('facts of the path', () => {
  test('are unknown before the first feedback, and then exclude the rate of sound', () => {
    expect(path.view.kbps).toBeNull();
    path.onRemb(2_000, 0);
    expect(path.view.kbps).toBe(2_000);
    path.acceptSound(true);
    expect(path.view.kbps).toBe(1_840);
    expect(path.repair.kbps).toBe(2_000);
  });

  test('a closed path runs no timer', () => {
    path.probe(8_000);
    path.close();
    expect(clock.pendingTimers).toBe(0);
    path.hold();
    expect(clock.pendingTimers).toBe(0);
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Drain } from './drain.ts';
import { BandwidthEstimate } from './estimate.ts';
import { PathDelay } from './path-delay.ts';
import { ProbeRun } from './probe.ts';
import type { PacketFlight } from './transport-feedback.ts';

/** A simulated link with a queue. */
class Line {
  #sequence = 0;
  #freeAtMs = 0;
  constructor(
    public kbps: number,
    readonly offsetMs = 5_000,
  ) {}

  send(sentAtMs: number, bytes: number): PacketFlight {
    this.#freeAtMs = Math.max(this.#freeAtMs, sentAtMs) + (bytes * 8) / this.kbps;
    return { sequence: this.#sequence++, sentAtMs, bytes, receivedAtMs: this.#freeAtMs + this.offsetMs };
  }

  /** Sends a frame at once, in packets of 1200 bytes. */
  frame(sentAtMs: number, bytes: number): PacketFlight[] {
    return Array.from({ length: Math.max(1, Math.round(bytes / 1200)) }, () => this.send(sentAtMs, 1200));
  }
}

const FRAME_MS = 1000 / 60;

/** Sends frames at a rate for some time, and returns feedback after every fourth frame. */
function stream(
  line: Line,
  kbps: number,
  fromMs: number,
  forMs: number,
): { flights: PacketFlight[]; nowMs: number }[] {
  const reports: { flights: PacketFlight[]; nowMs: number }[] = [];
  let flights: PacketFlight[] = [];
  for (let i = 0; i * FRAME_MS < forMs; i++) {
    const nowMs = fromMs + i * FRAME_MS;
    flights.push(...line.frame(nowMs, (kbps / 8) * FRAME_MS));
    if (i % 4 !== 3) continue;
    reports.push({ flights, nowMs });
    flights = [];
  }
  return reports;
}

describe('queue on the path', () => {
  test('a link that carries everything is clear, with any clock', () => {
    const delay = new PathDelay();
    for (const { flights } of stream(new Line(5000, -77_777), 4000, 0, 2_000)) {
      expect(delay.add(flights, 4400)).not.toBe('slower');
    }
    expect(delay.queueingDelayMs).toBeLessThan(20);
  });

  test('a link that became slow is detected with the first report, and its rate is measured', () => {
    const line = new Line(5000);
    const delay = new PathDelay();
    for (const { flights } of stream(line, 4000, 0, 2_000)) delay.add(flights, 4400);
    line.kbps = 500;
    const [first] = stream(line, 4000, 2_000, 100);
    expect(delay.add(first?.flights ?? [], 4400)).toBe('slower');
    expect(delay.linkKbps).toBeGreaterThan(450);
    expect(delay.linkKbps).toBeLessThan(560);
  });

  test('that became slow behind a burst of the host is measured at its new rate, not the old one', () => {
    const line = new Line(5000);
    const delay = new PathDelay();
    for (const { flights } of stream(line, 4000, 0, 2_000)) delay.add(flights, 4400);
    delay.add(line.frame(2_000, 30_000), 4400);
    line.kbps = 500;
    delay.add(line.frame(2_016, 4_800), 4400);
    expect(delay.linkKbps).toBeGreaterThan(450);
    expect(delay.linkKbps).toBeLessThan(560);
  });

  test('a receiver that was busy for a moment is not taken for a slow link', () => {
    const line = new Line(5000);
    const delay = new PathDelay();
    for (const { flights } of stream(line, 4000, 0, 2_000)) delay.add(flights, 4400);
    // The receiver was busy: it stamps four packets late, and reads the other packets directly after them.
    const flights = stream(line, 4000, 2_000, 100)[0]?.flights ?? [];
    const lateAtMs = (flights[4]?.receivedAtMs ?? 0) + 180;
    const late = flights.map((flight, i) =>
      i < 4 ? flight : { ...flight, receivedAtMs: Math.max(flight.receivedAtMs, lateAtMs + i * 0.5) },
    );
    delay.add(late, 4400);
    expect(delay.linkKbps ?? 5000).toBeGreaterThan(4000);
  });

  test('a queue from an ordinary keyframe is no proof of a slow link', () => {
    const line = new Line(5000);
    const delay = new PathDelay();
    for (const { flights } of stream(line, 3000, 0, 2_000)) delay.add(flights, 4500);
    expect(delay.add(line.frame(2_100, 40_000), 4500)).not.toBe('slower');
  });

  test('one late packet is ignored', () => {
    const line = new Line(5000);
    const delay = new PathDelay();
    for (const { flights } of stream(line, 3000, 0, 2_000)) delay.add(flights, 4500);
    const flights = line.frame(2_100, 4_800);
    const late = flights.map((flight, i) =>
      i === 1 ? { ...flight, receivedAtMs: flight.receivedAtMs + 200 } : flight,
    );
    expect(delay.add(late, 4500)).not.toBe('slower');
  });
});

describe('estimate', () => {
  test('is unknown before the first report', () => {
    expect(new BandwidthEstimate(4000).view.kbps).toBeNull();
  });

  test('falls below the rate of a link that became slow, and stays there until disproved', () => {
    const line = new Line(5000);
    const estimate = new BandwidthEstimate(4000);
    for (const { flights, nowMs } of stream(line, 4000, 0, 2_000)) estimate.onFeedback(flights, nowMs);
    line.kbps = 1000;
    for (const { flights, nowMs } of stream(line, 4000, 2_000, 200)) estimate.onFeedback(flights, nowMs);
    expect(estimate.view.kbps).toBeGreaterThan(800);
    expect(estimate.view.kbps).toBeLessThan(1100);
    estimate.drained(5_000);
    for (const { flights, nowMs } of stream(line, 800, 5_000, 5_000)) estimate.onFeedback(flights, nowMs);
    expect(estimate.view.kbps).toBeLessThan(1100);
  });

  test('falls as fast when the link has become slow before', () => {
    const line = new Line(5000);
    const estimate = new BandwidthEstimate(4000);
    line.kbps = 3500;
    for (const { flights, nowMs } of stream(line, 4000, 0, 1_000)) estimate.onFeedback(flights, nowMs);
    estimate.drained(2_000);
    for (const { flights, nowMs } of stream(line, 3000, 2_000, 2_000)) estimate.onFeedback(flights, nowMs);
    line.kbps = 500;
    for (const { flights, nowMs } of stream(line, 3000, 4_000, 140)) estimate.onFeedback(flights, nowMs);
    expect(estimate.view.kbps).toBeLessThan(560);
  });

  test('a clean probe raises it, an unclean one does not', () => {
    const line = new Line(1000);
    const estimate = new BandwidthEstimate(4000);
    for (const { flights, nowMs } of stream(line, 4000, 0, 300)) estimate.onFeedback(flights, nowMs);
    const before = estimate.view.kbps ?? 0;
    estimate.onProbe(3000, false);
    expect(estimate.view.kbps).toBe(before);
    estimate.onProbe(3000, true);
    expect(estimate.view.kbps).toBe(2850);
  });

  test('a still picture does not lower it', () => {
    const estimate = new BandwidthEstimate(4000);
    for (const { flights, nowMs } of stream(new Line(5000), 100, 0, 20_000))
      estimate.onFeedback(flights, nowMs);
    expect(estimate.view.kbps).toBeGreaterThanOrEqual(4000);
  });

  test.each([
    [0.02, 1, 'low loss has no effect'],
    [0.1, 1, 'a tenth has no effect either'],
    [0.2, 0.9, 'above it, half of the loss'],
    [0.5, 0.75, 'even with a total loss'],
  ])('a loss of %d leaves %d of it: %s', (loss, share) => {
    const estimate = new BandwidthEstimate(4000);
    estimate.onRemb(4000);
    estimate.onLoss(loss, 10_000);
    expect(estimate.view.kbps).toBeCloseTo(4000 * share);
  });

  test('continued losses lower it further, and it recovers when they end', () => {
    const estimate = new BandwidthEstimate(4000);
    estimate.onRemb(4000);
    for (let i = 0; i < 5; i++) estimate.onLoss(0.4, i * 1000);
    const low = estimate.view.kbps ?? 0;
    expect(low).toBeLessThan(1500);
    for (let i = 5; i < 40; i++) estimate.onLoss(0, i * 1000);
    expect(estimate.view.kbps).toBe(4000);
  });

  test('REMB is used only without transport feedback', () => {
    const estimate = new BandwidthEstimate(4000);
    estimate.onRemb(1234);
    expect(estimate.view.kbps).toBe(1234);
    for (const { flights, nowMs } of stream(new Line(9000), 2000, 0, 200))
      estimate.onFeedback(flights, nowMs);
    const before = estimate.view.kbps;
    estimate.onRemb(100);
    expect(estimate.view.kbps).toBe(before);
  });

  test('no feedback makes it negative, infinite or NaN', () => {
    const flight = fc.record({
      sequence: fc.integer({ min: 0, max: 65_535 }),
      sentAtMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
      receivedAtMs: fc.double({ min: -1e9, max: 1e9, noNaN: true }),
      bytes: fc.integer({ min: 1, max: 1500 }),
    });
    fc.assert(
      fc.property(fc.array(fc.array(flight, { maxLength: 20 }), { maxLength: 20 }), (reports) => {
        const estimate = new BandwidthEstimate(4000);
        for (const [i, flights] of reports.entries()) estimate.onFeedback(flights, i * 60);
        const kbps = estimate.view.kbps ?? 4000;
        expect(kbps).toBeGreaterThan(0);
        expect(kbps).toBeLessThanOrEqual(6000);
      }),
    );
  });
});

describe('drain', () => {
  test('takes the backlog divided by the link’s rate', () => {
    const drain = new Drain(50_000, 500, 10, 0);
    for (let nowMs = 60; nowMs < 800; nowMs += 60) drain.heard(50_000 - (nowMs * 500) / 8, 500, nowMs);
    expect(drain.isOver(770)).toBe(false);
    expect(drain.isOver(805)).toBe(true);
  });

  test('ends with silence: losses at the end of the queue are never reported', () => {
    const drain = new Drain(50_000, 500, 10, 0);
    drain.heard(20_000, 500, 300);
    expect(drain.isOver(399)).toBe(false);
    expect(drain.isOver(400)).toBe(true);
  });

  test('ends at once without a queue, and after two seconds with any reports', () => {
    expect(new Drain(1_000, 500, 0, 0).isOver(0)).toBe(true);
    const drain = new Drain(1e9, 100, 0, 0);
    for (let nowMs = 50; nowMs < 2_000; nowMs += 50) drain.heard(1e9, 100, nowMs);
    expect(drain.isOver(2_000)).toBe(true);
  });
});

describe('probe', () => {
  function probe(line: Line, kbps: number, lose: number | null = null) {
    const run = new ProbeRun(0, 0);
    const flights = Array.from({ length: Math.round((kbps * 100) / 8 / 250) }, (_, i) => {
      const flight = line.send((i * 250 * 8) / kbps, 250);
      run.sent(flight.sequence, flight.bytes);
      return flight;
    });
    run.end(100);
    const lost = flights.filter(({ sequence }) => sequence === lose);
    return run.heard({ flights: flights.filter(({ sequence }) => sequence !== lose), lost });
  }

  test('that the link carries is clean, and gives the received rate', () => {
    const result = probe(new Line(5000), 2000);
    expect(result?.clean).toBe(true);
    expect(result?.receivedKbps).toBeGreaterThan(1900);
    expect(result?.receivedKbps).toBeLessThan(2100);
  });

  test('that lengthens the queue, or loses a packet, is not clean', () => {
    expect(probe(new Line(1000), 2000)).toMatchObject({ clean: false });
    expect(probe(new Line(5000), 2000, 3)).toMatchObject({ clean: false });
  });

  test('without feedback proves nothing', () => {
    const run = new ProbeRun(0, 0);
    run.sent(1, 250);
    run.end(100);
    expect(run.overdue(20, 300)).toBeNull();
    expect(run.overdue(20, 400)).toEqual({ receivedKbps: 0, clean: false });
  });
});

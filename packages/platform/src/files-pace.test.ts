import { describe, expect, test } from 'vitest';
import { FilesPace } from './files-pace.ts';

const FILE_CHUNK_BYTES = 64 * 1024;
/** Interval of a browser's reports, 16 a second. */
const REPORT_MS = 62;

/**
 * Simulates a link with a queue that the picture and an endless file share.
 * @returns the 95th percentile of the queueing delay, and the file's rate
 */
function share(link: {
  kbps: (nowMs: number) => number;
  pictureKbps: number;
  paced: boolean;
  seconds: number;
}) {
  const pace = new FilesPace();
  let queued = 0;
  let moved = 0;
  const queuesMs: number[] = [];
  for (let nowMs = 0; nowMs < link.seconds * 1000; nowMs++) {
    const perMs = link.kbps(nowMs) / 8;
    queued = Math.max(0, queued - perMs) + link.pictureKbps / 8;
    // In reality a report is about packets sent half a round trip ago; here it arrives at once.
    if (link.paced && nowMs % REPORT_MS === 0) pace.heard(queued / perMs, nowMs);
    // The transport itself stops sending when its queue is one second long.
    while (pace.waitMs(0, nowMs) === 0 && queued < perMs * 1000) {
      const bytes = pace.frameBytes(FILE_CHUNK_BYTES);
      pace.sent(bytes, nowMs);
      queued += bytes;
      moved += bytes;
      if (!link.paced) break;
    }
    queuesMs.push(queued / perMs);
  }
  const sorted = [...queuesMs].sort((a, b) => a - b);
  return {
    p95Ms: sorted[Math.floor(sorted.length * 0.95)] ?? 0,
    fileKbps: (moved * 8) / (link.seconds * 1000),
  };
}

describe('a file on a link that the picture needs', () => {
  test('of 8 Mbit/s uses most of the remaining rate, and the picture is hardly delayed', () => {
    const { p95Ms, fileKbps } = share({ kbps: () => 8_000, pictureKbps: 4_000, paced: true, seconds: 20 });
    expect(p95Ms).toBeLessThan(40);
    expect(fileKbps).toBeGreaterThan(2_000);
    // Without the pace, the picture waits behind the transport's full queue.
    expect(share({ kbps: () => 8_000, pictureKbps: 4_000, paced: false, seconds: 20 }).p95Ms).toBeGreaterThan(
      500,
    );
  });

  test('that is fast is used fully within seconds', () => {
    const { fileKbps } = share({ kbps: () => 500_000, pictureKbps: 8_000, paced: true, seconds: 10 });
    expect(fileKbps).toBeGreaterThan(200_000);
  });

  test('that becomes slow is left to the picture', () => {
    const { p95Ms } = share({
      kbps: (nowMs) => (nowMs < 5_000 ? 50_000 : 5_000),
      pictureKbps: 3_000,
      paced: true,
      seconds: 60,
    });
    expect(p95Ms).toBeLessThan(60);
  });

  test('that the picture fills still carries the file', () => {
    const { fileKbps } = share({ kbps: () => 4_000, pictureKbps: 3_990, paced: true, seconds: 20 });
    expect(fileKbps).toBeGreaterThan(200);
  });
});

test('without reports about the path nothing is delayed', () => {
  const pace = new FilesPace();
  pace.sent(FILE_CHUNK_BYTES, 0);
  expect(pace.waitMs(0, 0)).toBe(0);
  expect(pace.frameBytes(FILE_CHUNK_BYTES)).toBe(FILE_CHUNK_BYTES);
  pace.heard(0, 0);
  pace.sent(FILE_CHUNK_BYTES, 0);
  expect(pace.waitMs(0, 0)).toBeGreaterThan(100);
  pace.reset();
  expect(pace.waitMs(0, 0)).toBe(0);
});

test('a channel that sends less than the pace gets no more data, so that a path that becomes slow drains soon', () => {
  const pace = new FilesPace();
  pace.heard(0, 0);
  expect(pace.waitMs(32 * 1024, 100)).toBe(0);
  expect(pace.waitMs(64 * 1024, 100)).toBeGreaterThan(0);
});

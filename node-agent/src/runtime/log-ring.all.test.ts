import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { LOG_RING_BYTES, LogRing } from './log-ring.ts';

describe('what a log ring costs', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const heldBytes = () => {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };

  test('an app that writes without end costs no more memory than one that wrote as much as is kept', () => {
    const ring = new LogRing();
    const before = heldBytes();
    const page = Buffer.alloc(64 * 1024, 'x');
    for (let written = 0; written < 64 * LOG_RING_BYTES; written += page.length) ring.add(page);
    expect(heldBytes() - before).toBeLessThan(8 * LOG_RING_BYTES);
    expect(ring.bytes).toBe(LOG_RING_BYTES);
  });

  test('an app that writes single bytes costs no more memory than one that writes pages', () => {
    const ring = new LogRing();
    const before = heldBytes();
    for (let count = 0; count < LOG_RING_BYTES; count++) ring.add(Buffer.from([65 + (count % 26)]));
    expect(heldBytes() - before).toBeLessThan(8 * LOG_RING_BYTES);
    expect(ring.bytes).toBe(LOG_RING_BYTES);
  });

  test('the newest of many long lines are found in a moment', () => {
    const ring = new LogRing();
    for (let line = 0; line < 1_000; line += 1)
      ring.add(Buffer.from(`${line}`.padEnd(1_000, 'x').concat('\n')));
    const startMs = performance.now();
    ring.tail(1_000, 256 * 1024);
    expect(performance.now() - startMs).toBeLessThan(1_000);
  });
});

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { LOG_RING_BYTES, LogRing } from './log-ring.ts';

describe('the cost of a log ring', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const heldBytes = () => {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };

  test('an app that writes endlessly needs no more memory than one that wrote the kept size', () => {
    const ring = new LogRing();
    const before = heldBytes();
    const page = Buffer.alloc(64 * 1024, 'x');
    for (let written = 0; written < 64 * LOG_RING_BYTES; written += page.length) ring.add(page);
    expect(heldBytes() - before).toBeLessThan(8 * LOG_RING_BYTES);
    expect(ring.bytes).toBe(LOG_RING_BYTES);
  });

  test('an app that writes single bytes needs no more memory than one that writes pages', () => {
    const ring = new LogRing();
    const before = heldBytes();
    for (let count = 0; count < LOG_RING_BYTES; count++) ring.add(Buffer.from([65 + (count % 26)]));
    expect(heldBytes() - before).toBeLessThan(8 * LOG_RING_BYTES);
    expect(ring.bytes).toBe(LOG_RING_BYTES);
  });

  test('the newest of many long lines are found quickly', () => {
    const ring = new LogRing();
    for (let line = 0; line < 1_000; line += 1)
      ring.add(Buffer.from(`${line}`.padEnd(1_000, 'x').concat('\n')));
    const startMs = performance.now();
    ring.tail(1_000, 256 * 1024);
    expect(performance.now() - startMs).toBeLessThan(1_000);
  });
});

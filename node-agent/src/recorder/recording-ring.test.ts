import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RecordingRing } from './recording-ring.ts';

const record = (bytes: number, isKeyframe = false) => ({ isKeyframe, bytes: Buffer.alloc(bytes) });

describe('a ring', () => {
  test('begins at its oldest keyframe', () => {
    const ring = new RecordingRing();
    const keyframe = record(10, true);
    ring.add(record(5), 0);
    ring.add(keyframe, 10);
    ring.add(record(6), 20);
    expect(ring.frozen().map(({ length }) => length)).toEqual([10, 6]);
    expect(ring.frozen()[0]).toBe(keyframe.bytes);
  });

  test('is empty without a keyframe', () => {
    const ring = new RecordingRing();
    ring.add(record(5), 0);
    expect(ring.frozen()).toEqual([]);
  });

  test('drops records older than a minute, and begins at the next keyframe', () => {
    const ring = new RecordingRing();
    for (let second = 0; second <= 90; second++)
      ring.add(record(second + 1, second % 2 === 0), second * 1000);
    // The records from 30 s to 90 s are kept.
    expect(ring.frozen().map(({ length }) => length)).toEqual(Array.from({ length: 61 }, (_, n) => 31 + n));
  });

  test('holds 64 MiB, whatever the bitrate', () => {
    const ring = new RecordingRing();
    for (let n = 0; n < 100; n++) ring.add(record(1024 * 1024, true), n);
    expect([ring.bytes, ring.frozen().length]).toEqual([64 * 1024 * 1024, 64]);
  });

  test('stays within its limits for any stream', () => {
    const limits = { ms: 100, bytes: 1_000, records: 20 };
    const added = fc.record({ bytes: fc.nat(400), after: fc.nat(30), isKeyframe: fc.boolean() });
    fc.assert(
      fc.property(fc.array(added, { maxLength: 200 }), (stream) => {
        const ring = new RecordingRing(limits);
        let nowMs = 0;
        const kept: { bytes: number; atMs: number; isKeyframe: boolean }[] = [];
        for (const { bytes, after, isKeyframe } of stream) {
          nowMs += after;
          ring.add(record(bytes, isKeyframe), nowMs);
          kept.push({ bytes, atMs: nowMs, isKeyframe });
        }
        const isOver = () =>
          kept.length > limits.records ||
          kept.reduce((sum, one) => sum + one.bytes, 0) > limits.bytes ||
          nowMs - (kept[0]?.atMs ?? nowMs) > limits.ms;
        while (isOver()) kept.shift();
        const start = kept.findIndex((one) => one.isKeyframe);
        const shown = start === -1 ? [] : kept.slice(start);
        expect(ring.bytes).toBe(kept.reduce((sum, one) => sum + one.bytes, 0));
        expect(ring.frozen().map(({ length }) => length)).toEqual(shown.map(({ bytes }) => bytes));
      }),
    );
  });
});

import { ManualClock } from '@footlight/platform/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ProgressLine } from './engine/engine.ts';
import type { OpenEngine } from './engine/engine-host.ts';
import { ImagePulls, isPinned, PULL_FREE_BYTES, PullProgress } from './image-pulls.ts';

const IMAGE = `registry.test/doom@sha256:${'0'.repeat(64)}`;
const GIB = 1024 ** 3;

/** Pulls with a fake engine that the test controls. */
function pulls(freeBytes: () => number | null = () => 100 * GIB) {
  const clock = new ManualClock();
  const begun: { line: (line: ProgressLine) => void; end: (error?: Error) => void }[] = [];
  let held = false;
  const engine = {
    image: async () => (held ? { id: 'x', bytes: 1, volumes: [], workingDir: '' } : null),
    pull: (_ref: string, signal: AbortSignal, onLine: (line: ProgressLine) => void) =>
      new Promise<void>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        begun.push({
          line: onLine,
          end: (error) => {
            held = error === undefined;
            if (error) reject(error);
            else resolve();
          },
        });
      }),
  };
  const open = async () =>
    ({ engine, facts: { storeDir: '/store' }, hasInit: true }) as unknown as OpenEngine;
  return { clock, begun, pulls: new ImagePulls({ open, clock, freeBytes: async () => freeBytes() }) };
}
const layer = (id: string, current: number, total: number) => ({ id, progressDetail: { current, total } });
const never = new AbortController().signal;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('a pull', () => {
  test('is shared by all waiting sessions, and continues without them', async () => {
    const { pulls: all, begun } = pulls();
    const seen: number[] = [];
    const leaving = new AbortController();
    const first = all.wait(IMAGE, () => undefined, leaving.signal);
    await turn();
    const second = all.wait(IMAGE, (percent) => seen.push(percent), never);
    leaving.abort();
    await expect(first).rejects.toThrow('given up');
    begun[0]?.line(layer('a', 30, 100));
    begun[0]?.end();
    await second;
    expect([begun.length, seen]).toEqual([1, [0, 30]]);
  });

  test.each([
    ['five minutes without a byte', 300_000, 'no byte came for 300 s'],
    ['an hour in all', 3_600_000, 'not done within 3600 s'],
  ])('ends after %s', async (_name, afterMs, why) => {
    const { pulls: all, begun, clock } = pulls();
    const done = all.wait(IMAGE, () => undefined, never);
    const outcome = expect(done).rejects.toThrow(why);
    await turn();
    if (afterMs > 300_000) {
      // Simulates a registry that sends slowly.
      for (let atMs = 0, bytes = 1; atMs < afterMs; atMs += 100_000, bytes++) {
        clock.advance(100_000);
        begun[0]?.line(layer('a', bytes, 10_000));
      }
    } else clock.advance(afterMs);
    await outcome;
  });

  test('does not start on a full disk, and fails when the disk fills', async () => {
    let free = PULL_FREE_BYTES - 1;
    const { pulls: all, begun, clock } = pulls(() => free);
    await expect(all.wait(IMAGE, () => undefined, never)).rejects.toThrow('/store has 10.0 GiB free');
    expect(begun).toEqual([]);
    free = 11 * GIB;
    const done = expect(all.wait(IMAGE, () => undefined, never)).rejects.toThrow('/store has 1.0 GiB free');
    await turn();
    free = GIB;
    clock.advance(5_000);
    await done;
  });

  test('reports the reason of a failure, and can be repeated', async () => {
    const { pulls: all, begun } = pulls();
    const failed = expect(all.wait(IMAGE, () => undefined, never)).rejects.toThrow('manifest unknown');
    await turn();
    begun[0]?.end(new Error('manifest unknown'));
    await failed;
    const again = all.wait(IMAGE, () => undefined, never);
    await turn();
    begun[1]?.end();
    await again;
  });
});

test('progress never falls, and is below 100 until the end', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          id: fc.constantFrom('a', 'b', 'c', ''),
          status: fc.constantFrom('Downloading', 'Download complete', 'Already exists'),
          progressDetail: fc.record({ current: fc.double(), total: fc.double() }, { requiredKeys: [] }),
        }),
      ),
      (lines) => {
        const progress = new PullProgress();
        let last = 0;
        for (const line of lines) {
          const { percent } = progress.take(line);
          if (percent === null) continue;
          expect(percent).toBeGreaterThan(last);
          expect(percent).toBeLessThan(100);
          last = percent;
        }
      },
    ),
    {
      examples: [
        // The sum of these sizes is not a safe integer.
        [
          [
            { id: 'a', status: 'Downloading', progressDetail: { total: Number.MAX_VALUE } },
            { id: 'b', status: 'Download complete', progressDetail: { total: Number.MAX_VALUE } },
          ],
        ],
      ],
    },
  );
});

test.each([
  [IMAGE, true],
  ['127.0.0.1:5000/a/b@sha256:'.padEnd(90, 'f'), true],
  ['doom:latest', false],
  ['doom@sha256:0', false],
  [`doom@sha256:${'0'.repeat(64)}\n`, false],
  [`-doom@sha256:${'0'.repeat(64)}`, false],
  ['service-local/doom:1', false],
])('%s is pulled: %s', (image, pinned) => {
  expect(isPinned(image)).toBe(pinned);
});

import { readdirSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { Pipeline } from './index.ts';
import { drain, ENCODE } from './testing/encode-pipeline.ts';

const CYCLES = process.env.FOOTLIGHT_LONG ? 1000 : 20;

let pipeline: Pipeline | null = null;
afterEach(async () => {
  await pipeline?.dispose();
  pipeline = null;
});

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

test('the time since a signal is measured from its emission', async () => {
  const startedAt = performance.now();
  pipeline = Pipeline.launch('fakesrc num-buffers=3 ! identity name=passing ! fakesink');
  const since = pipeline.element('passing').sinceSignal('handoff');
  expect(since()).toBeLessThanOrEqual(performance.now() - startedAt);
  const launchedAt = performance.now();
  await pipeline.setState('playing');
  const ended = pipeline;
  await expect.poll(() => ended.pollBus()).toContainEqual({ kind: 'eos' });
  const first = since();
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThan(performance.now() - launchedAt);
  expect(since()).toBeGreaterThan(first);
});

test(`${CYCLES} starts and stops leave nothing behind`, { timeout: 600_000 }, async () => {
  const cycle = async () => {
    const one = Pipeline.launch(ENCODE.replace('num-buffers=30', 'num-buffers=3'));
    await one.setState('playing');
    one.element('encoder').setProperty('bitrate', 500_000);
    one.element('sink').forceKeyUnit();
    const { frames } = await drain(one);
    one.pollBus();
    await one.dispose();
    return frames;
  };
  // Caches, pools and plugin data grow only in the first cycles.
  for (let index = 0; index < 10; index++) await cycle();
  const before = process.memoryUsage().rss;
  const descriptorsBefore = openDescriptors();
  for (let index = 0; index < CYCLES; index++) expect(await cycle()).toBe(3);
  const grownBytes = process.memoryUsage().rss - before;
  expect(openDescriptors()).toBeLessThanOrEqual(descriptorsBefore + 8);
  // A leaked pipeline needs over 1 MB per cycle; smaller changes are normal variations of the heap.
  expect(grownBytes).toBeLessThan(30e6 + CYCLES * 20e3);
});

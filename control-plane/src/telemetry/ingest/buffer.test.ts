import type { Logger } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import { describe, expect, test } from 'vitest';
import { PeriodicWriter } from '../../platform/queues/periodic-writer.ts';
import { TelemetryBuffer } from './buffer.ts';

const sample = (n: number, metrics = '{}') => ({
  session_id: 's',
  source: 'agent' as const,
  ts_unix_ms: n,
  host_id: 'h',
  metrics,
  received_at: 0,
});

/** A buffer whose writes wait until the test resolves or rejects them. */
function opened(more: { full?: boolean } = {}) {
  const clock = new ManualClock();
  const writes: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const dropped: number[] = [];
  const writer = new PeriodicWriter(clock, {
    run: <T>() =>
      new Promise<T>((resolve, reject) => writes.push({ resolve: () => resolve(undefined as T), reject })),
  });
  const buffer = new TelemetryBuffer({
    logger: {
      warn: (fields: { reports: number }) => void dropped.push(fields.reports),
    } as unknown as Logger,
    database: { full: more.full ?? false },
    retention: { trim: async () => undefined },
    periodicWriter: writer,
  });
  return { buffer, writer, clock, writes, dropped };
}

describe('reports in memory', () => {
  test('are written once a second, however many they are', async () => {
    const { buffer, clock, writes } = opened();
    for (let n = 0; n < 100; n += 1) buffer.sample(sample(n), null);
    expect(writes).toHaveLength(0);
    await clock.pass(1_000);
    expect(writes).toHaveLength(1);
    await clock.pass(5_000);
    expect(writes).toHaveLength(1);
  });

  test('are at most 16,384, and those that are dropped are counted', async () => {
    const { buffer, clock, dropped, writes } = opened();
    for (let n = 0; n < 100_000; n += 1) buffer.sample(sample(n), null);
    await clock.pass(1_000);
    expect(dropped).toEqual([100_000 - 16_384]);
    expect(writes).toHaveLength(1);
  });

  test('take at most 32 MiB', async () => {
    const { buffer, clock, dropped } = opened();
    const metrics = 'x'.repeat(1024 * 1024);
    for (let n = 0; n < 40; n += 1) buffer.sample(sample(n, metrics), null);
    await clock.pass(1_000);
    expect(dropped).toEqual([8]);
  });

  test.each([
    ['16,384', '{}', 2_048],
    ['32 MiB', 'x'.repeat(1024 * 1024), 4],
  ])(
    'of one person are at most an eighth of the %s, and those of others are taken',
    async (_, metrics, most) => {
      const { buffer, clock, dropped } = opened();
      for (let n = 0; n < 10_000; n += 1) buffer.sample(sample(n, metrics), 'mallory');
      buffer.clock({ session_id: 's', client_offset_ms: 0, uncertainty_ms: 0, measured_at: 0 }, 'mallory');
      buffer.sample(sample(1), 'alice');
      buffer.sample(sample(2), null);
      await clock.pass(1_000);
      expect(dropped).toEqual([10_000 - most + (most === 2_048 ? 1 : 0)]);
    },
  );

  test('wait while a write takes long, within the same bounds', async () => {
    const { buffer, writer, clock, dropped, writes } = opened();
    buffer.sample(sample(0), null);
    await clock.pass(1_000);
    for (let n = 0; n < 20_000; n += 1) buffer.sample(sample(n), null);
    await clock.pass(60_000);
    expect(writes).toHaveLength(1);
    const readers = [writer.flush(), writer.flush()];
    let isRead = false;
    const read = Promise.all(readers).then(() => {
      isRead = true;
    });
    writes[0]?.resolve();
    await expect.poll(() => writes.length).toBe(2);
    expect(isRead).toBe(false);
    writes[1]?.resolve();
    await read;
    expect(dropped).toEqual([20_000 - 16_384]);
  });

  test('are lost when they cannot be written; the next ones are written', async () => {
    const { buffer, clock, dropped, writes } = opened();
    buffer.sample(sample(0), null);
    await clock.pass(1_000);
    writes[0]?.reject(new Error('the database is down'));
    await expect.poll(() => dropped).toEqual([1]);
    buffer.sample(sample(1), null);
    await clock.pass(1_000);
    await expect.poll(() => writes.length).toBe(2);
  });

  test('are not written while the disk is full', async () => {
    const { buffer, clock, writes } = opened({ full: true });
    buffer.sample(sample(0), null);
    await clock.pass(1_000);
    expect(writes).toHaveLength(0);
  });

  test('are written at the end, and later ones are dropped', async () => {
    const { buffer, writer, clock, writes } = opened();
    buffer.sample(sample(0), null);
    buffer.close();
    const closed = writer.close();
    await expect.poll(() => writes.length).toBe(1);
    writes[0]?.resolve();
    await closed;
    buffer.sample(sample(1), null);
    await clock.pass(5_000);
    expect(writes).toHaveLength(1);
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ManualClock } from '@footlight/platform/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openInstallFile } from './install-files.ts';

const KB = 1024;
const ARCHIVE_BYTES = 20 * KB * KB;
const RATE = 8 * KB * KB;
/** Bytes that may arrive early: the burst, and the bytes that the stages of the stream buffer. */
const AHEAD_BYTES = 512 * KB;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'install-files-'));
  writeFileSync(path.join(folder, 'agent-linux-x64.tgz'), Buffer.alloc(ARCHIVE_BYTES));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a download', () => {
  test('comes whole, and never faster than 8 MiB a second', async () => {
    const clock = new ManualClock();
    const { content, bytes } = await openInstallFile(folder, 'agent-linux-x64.tgz', true, clock);
    expect(bytes).toBe(ARCHIVE_BYTES);
    const startedMs = clock.monotonicMs();
    let received = 0;
    let over = 0;
    const ended = new Promise<void>((resolve, reject) => content.once('end', resolve).once('error', reject));
    content.on('data', (chunk: Buffer) => {
      received += chunk.length;
      const allowed = ((clock.monotonicMs() - startedMs) / 1_000) * RATE + AHEAD_BYTES;
      if (received > allowed) over += 1;
    });
    let done = false;
    void ended.then(() => {
      done = true;
    });
    while (!done) {
      await clock.pass(5);
      await new Promise(setImmediate);
    }
    expect([received, over]).toEqual([ARCHIVE_BYTES, 0]);
    expect(clock.monotonicMs() - startedMs).toBeGreaterThan(((ARCHIVE_BYTES - AHEAD_BYTES) / RATE) * 1_000);
  });

  test('that nobody reads keeps little in memory, and ends when the reader disconnects', async () => {
    const clock = new ManualClock();
    const { content } = await openInstallFile(folder, 'agent-linux-x64.tgz', true, clock);
    for (let n = 0; n < 100; n += 1) {
      await clock.pass(100);
      await new Promise(setImmediate);
    }
    expect(content.readableLength).toBeLessThanOrEqual(128 * KB);
    const closed = new Promise<void>((resolve) => content.once('close', () => resolve()));
    content.destroy();
    await closed;
  });
});

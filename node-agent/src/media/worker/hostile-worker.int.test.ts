import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BUILT_ENTRIES_VARIABLE } from './child-entry.ts';
import { createMediaWorkerPool, type MediaWorkerPool } from './worker-pool.ts';

/** Of the agent's own health answer. */
const SILENCE_MS = 1_000;
const MIB = 1024 ** 2;

let directory: string;
let pool: MediaWorkerPool;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hostile-worker-'));
});
afterEach(async () => {
  await pool.close();
  rmSync(directory, { recursive: true });
});

/** A pool whose worker is that program: what a viewer who took the real one over could run there. */
function poolOf(program: string, onOutput: (line: string) => void): void {
  writeFileSync(join(directory, 'worker-main.js'), program);
  pool = createMediaWorkerPool({
    ...{ size: 0, ownIpc: false, env: { [BUILT_ENTRIES_VARIABLE]: directory } },
    onOutput: (_pid, line) => onOutput(line),
  });
}

test('a worker that sends messages without end is killed, and this process goes on', async () => {
  poolOf(
    `process.on('disconnect', () => process.exit());
    const flood = () => { for (let n = 0; n < 1000; n++) process.send({ type: 'pulse' }); setImmediate(flood); };
    process.send({ type: 'warm' });
    setTimeout(flood, 100);`,
    () => undefined,
  );
  const worker = await pool.acquire();
  let silenceMs = 0;
  let heardAtMs = performance.now();
  const pulse = setInterval(() => {
    silenceMs = Math.max(silenceMs, performance.now() - heardAtMs);
    heardAtMs = performance.now();
  }, 5);
  try {
    expect(await worker.exited).toEqual({ code: null, signal: 'SIGKILL' });
  } finally {
    clearInterval(pulse);
  }
  expect(silenceMs).toBeLessThan(SILENCE_MS);
});

test('a worker that writes a line without end: none of it is kept', async () => {
  const megabytes = 40;
  let [most, heard] = [0, 0];
  poolOf(
    `process.send({ type: 'warm' });
    const { writeSync } = require('node:fs');
    const write = (left) => { while (left > 0) { try { left -= writeSync(1, 'x'.repeat(65536)); } catch { return setTimeout(write, 1, left); } } process.exit(); };
    write(${megabytes} * ${MIB});`,
    (line) => {
      most = Math.max(most, line.length);
      heard += line.length;
    },
  );
  const worker = await pool.acquire();
  await worker.exited;
  await expect.poll(() => heard, { timeout: 15_000 }).toBeGreaterThan((megabytes - 1) * MIB);
  expect(most).toBeLessThan(MIB);
});

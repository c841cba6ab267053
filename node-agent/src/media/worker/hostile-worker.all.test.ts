import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@footlight/platform';
import { withLoopWatched } from '@footlight/platform/testing';
import type { UnknownCode } from '@footlight/protocol';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BUILT_ENTRIES_VARIABLE } from './child-entry.ts';
import { createMediaWorkerPool, type MediaWorkerPool, type WorkerExit } from './worker-pool.ts';

/** The tests accept at most this time without an answer of the agent's health page. */
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

/** Functions for the worker's program: `say` writes raw text to the channel; `tell` sends a message. */
const CHANNEL = `
  const { writeSync } = require('node:fs');
  setTimeout(() => process.exit(), 60_000);
  const say = (text) => { for (let rest = Buffer.from(text); rest.length > 0; ) { try { rest = rest.subarray(writeSync(3, rest)); } catch (error) { if (error.code !== 'EAGAIN') return; } } };
  const tell = (message) => say(JSON.stringify(message) + '\\n');
`;

/** Creates a pool whose worker is this program. A viewer who has exploited a real worker could run such a program. */
function poolOf(program: string, onOutput: (line: string) => void): void {
  writeFileSync(join(directory, 'worker-main.js'), CHANNEL + program);
  pool = createMediaWorkerPool({
    clock: systemClock,
    ...{ size: 0, ownIpc: false, env: { [BUILT_ENTRIES_VARIABLE]: directory } },
    onOutput: (_pid, line) => onOutput(line),
  });
}

/** Runs a program as a worker. @returns how the worker ended, and how long this process was blocked during the run */
async function endOf(program: string): Promise<{ exit: WorkerExit; silenceMs: number }> {
  poolOf(program, () => undefined);
  const worker = await pool.acquire();
  const { result, longestStallMs } = await withLoopWatched(() => worker.exited);
  return { exit: result, silenceMs: longestStallMs };
}

describe('a worker is killed, and this process is not blocked, when it sends', () => {
  test.each([
    [
      'messages without end',
      `const flood = () => { for (let n = 0; n < 1000; n++) tell({ type: 'pulse' }); setImmediate(flood); }; flood();`,
    ],
    [
      'long messages without end',
      `const flood = () => { tell({ type: 'log', fields: 'x'.repeat(400_000) }); setImmediate(flood); }; flood();`,
    ],
    [
      'one message without end',
      `const flood = () => { say('x'.repeat(1024 * 1024)); setImmediate(flood); }; say('"'); flood();`,
    ],
    ['a line that is not JSON', `say('no message\\n');`],
    [
      'malformed messages',
      `for (let n = 0; n < 500; n++) tell({ type: 'metrics', metrics: { long: 'x'.repeat(1000) } });`,
    ],
    [
      'internal messages of Node',
      `for (const cmd of ['NODE_HANDLE_ACK', 'NODE_HANDLE', 'NODE_SOCKET_NOTIFY_CLOSE']) tell({ cmd, type: 'net.Socket' }); for (let n = 0; n < 100; n++) tell({ cmd: 'NODE_' });`,
    ],
  ])('%s', async (_what, program) => {
    const { exit, silenceMs } = await endOf(`tell({ type: 'warm' }); setTimeout(() => { ${program} }, 100);`);
    expect(exit).toEqual({ code: null, signal: 'SIGKILL' });
    expect(silenceMs).toBeLessThan(SILENCE_MS);
  });
});

test('a worker that does not read its messages is killed before they fill the memory', async () => {
  poolOf(`tell({ type: 'warm' });`, () => undefined);
  const worker = await pool.acquire();
  await worker.warm;
  const started = process.memoryUsage().rss;
  const long = { type: 'stop' as const, reason: 'x'.repeat(60_000) as UnknownCode, grace_ms: 0 };
  for (let count = 0; count < 2_000; count++) worker.send(long);
  expect(process.memoryUsage().rss - started).toBeLessThan(64 * MIB);
  expect(await worker.exited).toEqual({ code: null, signal: 'SIGKILL' });
});

test('a worker that writes an endless line: nothing of it is stored', async () => {
  const megabytes = 40;
  let [most, heard] = [0, 0];
  poolOf(
    `tell({ type: 'warm' });
    const write = (left) => { while (left > 0) { try { left -= writeSync(1, 'x'.repeat(65536)); } catch { return setTimeout(write, 1, left); } } process.exit(); };
    write(${megabytes} * ${MIB});`,
    (line) => {
      most = Math.max(most, line.length);
      heard += line.length;
    },
  );
  const worker = await pool.acquire();
  await worker.exited;
  await expect.poll(() => heard).toBeGreaterThan((megabytes - 1) * MIB);
  expect(most).toBeLessThan(MIB);
});

test('a worker that floods short lines: most of them are dropped', async () => {
  const megabytes = 4;
  let heard = 0;
  poolOf(
    `tell({ type: 'warm' });
    const text = 'a\\n'.repeat(32768);
    const write = (left) => { while (left > 0) { try { left -= writeSync(1, text); } catch { return setTimeout(write, 1, left); } } process.exit(); };
    write(${megabytes} * ${MIB});`,
    () => {
      heard += 1;
    },
  );
  const worker = await pool.acquire();
  await worker.exited;
  expect(heard).toBeGreaterThan(0);
  // Of two million lines, at most this number may be read.
  expect(heard).toBeLessThan(200_000);
});

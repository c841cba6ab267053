import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../packages/platform/src/testing/index.ts';
import { LogFile } from './log-file.mjs';
import { supervise } from './supervise.mjs';

/** A program that answers on its health address, and writes its process id to the log as soon as it listens there. */
const PROGRAM = `
const server = require('node:http').createServer((request, response) => response.end('{}'));
server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log(process.pid));
`;

/** Interval of the health checks. */
const EVERY_MS = 200;
/** Time limit of waits for other processes. A busy machine needs several seconds to start one. */
const patience = { timeout: 60_000 };

let directory: string;
let said: string[];
/** Answers arrive in real time, but time limits pass only when the test advances the clock. */
let clock: ManualClock;
let program: ReturnType<typeof supervise>;

beforeEach(async () => {
  clock = new ManualClock();
  directory = mkdtempSync(path.join(tmpdir(), 'footlight-supervise-'));
  said = [];
  const port = await freePort();
  const file = path.join(directory, 'program.cjs');
  writeFileSync(file, PROGRAM);
  program = supervise(
    {
      name: 'program',
      command: [process.execPath, file],
      logFile: path.join(directory, 'log'),
      env: { ...process.env, PORT: String(port) },
      health: { url: `http://127.0.0.1:${port}/health`, everyMs: EVERY_MS },
    },
    (line) => said.push(line),
    clock,
  );
});

afterEach(async () => {
  const stopped = program.stop(1_000);
  // If a failed test has left the program stopped (SIGSTOP), this time limit ends it.
  clock.advance(1_000);
  await stopped;
  rmSync(directory, { recursive: true, force: true });
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

/** Process ids of all starts until now. */
function starts(): number[] {
  return readFileSync(path.join(directory, 'log'), 'utf8').trim().split('\n').filter(Boolean).map(Number);
}

/** The process id of the program, after it has answered once. */
async function firstStart(): Promise<number> {
  await expect.poll(() => starts().length, patience).toBe(1);
  // The first request may have been sent before the program listened. If the second request were still pending, it
  // would later be counted as missed.
  await expect.poll(() => program.hasAnswered || program.missedAnswers > 0, patience).toBe(true);
  if (!program.hasAnswered) clock.advance(EVERY_MS);
  await expect.poll(() => program.hasAnswered, patience).toBe(true);
  const [pid = 0] = starts();
  return pid;
}

/** Stops the process (SIGSTOP) until it has missed the given number of answers in a row. */
async function standsStill(pid: number, answers: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'utf8'), patience).toMatch(/^\d+ \(.*\) T /);
  // The period with the last answer ends; the next request will get no answer.
  await clock.pass(EVERY_MS);
  for (let missed = 1; missed <= answers; missed++) {
    await clock.pass(EVERY_MS);
    await expect.poll(() => program.missedAnswers, patience).toBe(missed);
  }
}

test('the program and its children write no core, and start no core handler', async () => {
  const limits = readFileSync(`/proc/${await firstStart()}/limits`, 'utf8');
  expect(limits).toMatch(/^Max core file size +1 +1 /m);
});

test('a program that hangs is ended and started again', async () => {
  const first = await firstStart();
  await standsStill(first, 6);
  await expect.poll(() => said.length, patience).toBe(2);
  clock.advance(250);
  await expect.poll(() => starts().length, patience).toBe(2);
  expect(said).toEqual([
    'The program has not answered for 1.2 s; it is ended.',
    'The program stopped (SIGKILL); starting it again.',
  ]);
  expect(() => process.kill(first, 0)).toThrow('ESRCH');
}, 60_000);

test('a program that is stopped for a moment keeps running', async () => {
  const first = await firstStart();
  await standsStill(first, 2);
  process.kill(first, 'SIGCONT');
  await expect.poll(() => program.missedAnswers, patience).toBe(0);
  expect([starts(), said]).toEqual([[first], []]);
}, 60_000);

test('the pause before a restart doubles, and is short again after the program has run for 30 s', async () => {
  await firstStart();
  for (const [restarts, ranMs, pauseMs] of [
    [1, 0, 250],
    [2, 29_999, 500],
    [3, 30_000, 250],
  ] as const) {
    clock.advance(ranMs);
    process.kill(starts().at(-1) ?? 0, 'SIGKILL');
    await expect.poll(() => said.length, patience).toBe(restarts);
    expect(clock.isAwaited(pauseMs)).toBe(true);
    clock.advance(pauseMs);
    await expect.poll(() => starts().length, patience).toBe(restarts + 1);
  }
}, 60_000);

test('a restart ends the program and starts it again, and does not report an end', async () => {
  const first = await firstStart();
  await program.restart(1_000);
  await expect.poll(() => starts().length, patience).toBe(2);
  expect(() => process.kill(first, 0)).toThrow('ESRCH');
  expect(said).toEqual([]);
}, 60_000);

test('a log that cannot be written ends neither the program nor its supervisor', async () => {
  const written = path.join(directory, 'written');
  // Each text is larger than a pipe, so it can be written only while the supervisor reads.
  const script = `let count = 0; const write = () => process.stdout.write('x'.repeat(100_000), () => { require('node:fs').writeFileSync(process.argv[1], String(++count)); write(); }); write();`;
  const other = supervise(
    {
      name: 'program',
      command: [process.execPath, '-e', script, written],
      logFile: path.join(directory, 'missing', 'log'),
      env: process.env,
    },
    (line) => said.push(line),
  );
  try {
    const texts = () => (existsSync(written) ? Number(readFileSync(written, 'utf8')) : 0);
    await expect.poll(texts, patience).toBeGreaterThan(50);
  } finally {
    await other.stop(1_000);
  }
  expect(said).toEqual([]);
}, 60_000);

test('a log has two files of a bounded size', () => {
  const file = path.join(directory, 'long');
  const log = new LogFile(file, 1_000);
  for (let count = 0; count < 500; count++) log.write(Buffer.from(`${String(count).padStart(99)}\n`));
  log.close();
  const [now, before] = [readFileSync(file, 'utf8'), readFileSync(`${file}.previous`, 'utf8')];
  expect([now.length, before.length]).toEqual([1_000, 1_000]);
  expect(now.trimEnd().split('\n').at(-1)?.trim()).toBe('499');
});

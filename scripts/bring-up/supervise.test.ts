import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { supervise } from './supervise.mjs';

/** Answers on its health address, and writes its process id once it does. */
const PROGRAM = `
const server = require('node:http').createServer((request, response) => response.end('{}'));
server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log(process.pid));
`;

let directory: string;
let said: string[];
let program: ReturnType<typeof supervise>;

beforeEach(async () => {
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
      health: { url: `http://127.0.0.1:${port}/health`, everyMs: 200 },
    },
    (line) => said.push(line),
  );
});

afterEach(async () => {
  await program.stop(1_000);
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

/** Process ids of all starts so far. */
function starts(): number[] {
  return readFileSync(path.join(directory, 'log'), 'utf8').trim().split('\n').filter(Boolean).map(Number);
}

test('a program that hangs is ended and started again', async () => {
  await expect.poll(() => program.hasAnswered, { timeout: 10_000 }).toBe(true);
  const [first = 0] = starts();
  process.kill(first, 'SIGSTOP');
  await expect.poll(() => starts().length, { timeout: 10_000 }).toBe(2);
  expect(said).toEqual([
    'The program has not answered for 1.2 s; it is ended.',
    'The program stopped (SIGKILL); starting it again.',
  ]);
  expect(() => process.kill(first, 0)).toThrow('ESRCH');
}, 30_000);

test('one that stands still for a moment goes on', async () => {
  await expect.poll(() => program.hasAnswered, { timeout: 10_000 }).toBe(true);
  const [first = 0] = starts();
  process.kill(first, 'SIGSTOP');
  await expect.poll(() => program.missedAnswers, { timeout: 10_000 }).toBe(2);
  process.kill(first, 'SIGCONT');
  await expect.poll(() => program.missedAnswers, { timeout: 10_000 }).toBe(0);
  expect([starts(), said]).toEqual([[first], []]);
}, 30_000);

test('a restart ends the program and starts it again, without a word about an end', async () => {
  await expect.poll(() => program.hasAnswered, { timeout: 10_000 }).toBe(true);
  const [first = 0] = starts();
  await program.restart(1_000);
  await expect.poll(() => starts().length, { timeout: 10_000 }).toBe(2);
  expect(() => process.kill(first, 0)).toThrow('ESRCH');
  expect(said).toEqual([]);
});

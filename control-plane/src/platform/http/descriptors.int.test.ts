import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

const CONNECTIONS = process.env.FOOTLIGHT_LONG === '1' ? 1_000 : 150;
/** Descriptors that it may open beyond those it has when it is idle. */
const ROOM = 30;
const program = fileURLToPath(new URL('../../../../scripts/control-plane', import.meta.url));

let folder: string;
let service: ChildProcess;
let port: number;
let log = '';
const held: Socket[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-descriptors-'));
  service = spawn(program, [], {
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      SERVICE_DATA_DIR: folder,
      SERVICE_SETUP_TOKEN_PATH: join(folder, 'setup-token'),
      SERVICE_TLS: 'off',
      LISTEN_ADDR: '127.0.0.1:0',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [service.stdout, service.stderr])
    stream?.on('data', (chunk: Buffer) => {
      log += chunk.toString();
    });
  const until = performance.now() + 40_000;
  let found: RegExpExecArray | null = null;
  while (found === null) {
    if (service.exitCode !== null || performance.now() > until) throw new Error(`not started: ${log}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(log);
  }
  port = Number(found[1]);
});
afterAll(async () => {
  for (const socket of held) socket.destroy();
  if (service.exitCode === null) {
    service.kill('SIGTERM');
    await once(service, 'exit');
  }
  rmSync(folder, { recursive: true, force: true });
});

/** GET on a connection of the given agent. @returns the status; null when there was no answer in time */
function get(path: string, agent: Agent): Promise<number | null> {
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path, agent, timeout: 3_000 }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode ?? null));
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve(null));
    sent.end();
  });
}

test('without descriptors new connections are refused, old ones are served, and it recovers by itself', async () => {
  const old = new Agent({ keepAlive: true, maxSockets: 1 });
  const pid = service.pid as number;
  expect(await get('/health', old)).toBe(200);
  const open = readdirSync(`/proc/${pid}/fd`).length;
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${open + ROOM}:${open + ROOM}`]);
  for (let count = 0; count < CONNECTIONS; count += 1) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    held.push(socket);
  }
  await expect
    .poll(() => readdirSync(`/proc/${pid}/fd`).length, { timeout: 10_000 })
    .toBeGreaterThan(open + ROOM - 5);
  // Both an answer that needs no file and one that reads the database.
  for (const path of ['/health', '/v1/setup/status']) expect(await get(path, old)).toBe(200);
  for (const socket of held.splice(0)) socket.destroy();
  await expect
    .poll(() => get('/health', new Agent({ keepAlive: false })), { timeout: 10_000, interval: 200 })
    .toBe(200);
  expect(await get('/v1/setup/status', old)).toBe(200);
  expect([service.exitCode, service.pid]).toEqual([null, pid]);
  old.destroy();
});

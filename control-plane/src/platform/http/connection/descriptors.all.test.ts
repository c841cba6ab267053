import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeAgent } from '@footlight/test-harness';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OwnProcess, startOwnProcess } from '../../../testing/own-process.ts';

const CONNECTIONS = process.env.FOOTLIGHT_LONG === '1' ? 1_000 : 150;
/** Descriptors that the service may open in addition to those of the idle service. */
const ROOM = 30;
const ENROLLMENT = 'a-fixed-enrollment-token';

let folder: string;
let service: OwnProcess;
let port: number;
const held: Socket[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-descriptors-'));
  service = await startOwnProcess(folder, { env: { SERVICE_ENROLLMENT_TOKEN: ENROLLMENT } });
  port = Number(new URL(service.url).port);
});
afterAll(async () => {
  for (const socket of held) socket.destroy();
  await service?.end('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
});

/** Sends GET on a connection of the given HTTP agent. @returns the status; null when there was no answer in time */
function get(path: string, agent: Agent, localAddress = '127.0.0.1'): Promise<number | null> {
  return new Promise((resolve) => {
    const from = { host: '127.0.0.1', port, localAddress };
    const sent = request({ ...from, path, agent, timeout: 3_000 }, (answer) => {
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
  const { pid } = service;
  expect(await get('/health', old)).toBe(200);
  const credential = { token: ENROLLMENT };
  const agent = new FakeAgent({ url: service.url, nodeName: 'hosta', credential, heartbeatMs: 0 });
  await agent.connect();
  const open = readdirSync(`/proc/${pid}/fd`).length;
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${open + ROOM}:${open + ROOM}`]);
  for (let count = 0; count < CONNECTIONS; count += 1) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    held.push(socket);
  }
  await expect.poll(() => readdirSync(`/proc/${pid}/fd`).length).toBeGreaterThan(open + ROOM - 5);
  // One answer needs no file, and one reads the database.
  for (const path of ['/health', '/v1/setup/status']) expect(await get(path, old)).toBe(200);
  await agent.heard();
  expect(await get('/health', new Agent({ keepAlive: false }))).toBeNull();
  for (const socket of held.splice(0)) socket.destroy();
  await expect
    .poll(() => get('/health', new Agent({ keepAlive: false })), { timeout: 10_000, interval: 200 })
    .toBe(200);
  expect(await get('/v1/setup/status', old)).toBe(200);
  expect(service.ended).toBe(false);
  old.destroy();
  await agent.drop();
});

test('one address cannot take every descriptor of a process that may open few', async ({
  onTestFinished,
}) => {
  const few = mkdtempSync(join(tmpdir(), 'footlight-few-'));
  onTestFinished(() => rmSync(few, { recursive: true, force: true }));
  await service.end('SIGTERM');
  service = await startOwnProcess(few, {
    env: { SERVICE_CONNECTIONS_PER_ADDRESS: '1000' },
    through: ['prlimit', `--nofile=${CONNECTIONS}:${CONNECTIONS}`],
  });
  port = Number(new URL(service.url).port);
  const taken = Array.from({ length: CONNECTIONS }, async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    held.push(socket);
    await new Promise((resolve) => socket.once('connect', resolve));
  });
  await Promise.all(taken);
  expect(await get('/health', new Agent({ keepAlive: false }), '127.0.0.2')).toBe(200);
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dialAgentSocket, FakeAgent } from '@footlight/test-harness';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../testing/index.ts';

const TOKEN = 'a-fixed-enrollment-token';
const VISITS = 150;
const ERRORS = 5;
const REPORTS = 150;

let folder: string;
let app: TestApp;
let url: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-flap-'));
  const target = { dialect: 'sqlite' as const, file: join(folder, 'control.db') };
  app = await createTestApp(target, { env: { SERVICE_ENROLLMENT_TOKEN: TOKEN } });
  ({ http: url } = await app.plane.listen());
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Log lines above the level debug. */
const lines = () => app.log.map((line) => JSON.parse(line)).filter(({ level }) => level !== 'debug');

test('a host that connects, sends errors and disconnects as fast as it can does not fill the disk, and others are logged', async () => {
  const host = new FakeAgent({ url, nodeName: 'mallory', credential: { token: TOKEN }, heartbeatMs: 0 });
  const registration = JSON.stringify({
    type: 'register',
    node_name: 'mallory',
    agent_version: '1',
    protocol: { min: 1, max: 1 },
    boot_id: host.bootId,
    features: [],
    sessions: [],
  });
  await host.connect();
  const headers = { 'X-Service-Node': 'mallory', Authorization: `Bearer ${host.secret}` };
  await host.drop();
  const before = lines().length;
  for (let visit = 0; visit < VISITS; visit += 1) {
    const socket = await dialAgentSocket(url, headers);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const registered = new Promise((resolve) => socket.once('message', resolve));
    socket.send(registration);
    await registered;
    for (let n = 0; n < ERRORS; n += 1)
      socket.send(JSON.stringify({ type: 'error', code: 'x', message: 'y'.repeat(500) }));
    socket.close();
    await closed;
  }
  await expect
    .poll(() => app.log.filter((line) => line.includes('agent.registered')).length)
    .toBe(VISITS + 1);
  const said = lines().slice(before);
  // The limit applies once to the host's name and once to its id, each with a final line about suppressed lines.
  expect(said.length).toBeLessThanOrEqual(2 * 121);
  expect(said.filter(({ event }) => event === 'agent.lines_left_out').length).toBeGreaterThan(0);

  const other = new FakeAgent({ url, nodeName: 'render-2', credential: { token: TOKEN }, heartbeatMs: 0 });
  await other.connect();
  expect(lines().some(({ event, node }) => event === 'agent.registered' && node === 'render-2')).toBe(true);
  await other.drop();
  await app.clock.pass(60_000);
  await host.connect();
  expect(lines().at(-1)).toMatchObject({ event: 'agent.registered', node: 'mallory' });
  await host.drop();
});

test('reports that the database refuses fill no disk either', async () => {
  const host = new FakeAgent({ url, nodeName: 'refused', credential: { token: TOKEN }, heartbeatMs: 0 });
  await host.connect();
  const { db } = app.plane.platform.database;
  // Hide the table to make the writes fail with every database.
  await db.schema.alterTable('installed_images').renameTo('hidden_images').execute();
  for (let n = 0; n < REPORTS; n += 1)
    host.report({ type: 'image_state', image_id: `x${n}`, version: '1', state: 'ready' });
  await expect.poll(() => host.unseen, { timeout: 20_000 }).toBe(0);
  await db.schema.alterTable('hidden_images').renameTo('installed_images').execute();
  const failed = app.log
    .map((line) => JSON.parse(line))
    .filter(({ event }) => event === 'agent.report_failed');
  expect(failed).toHaveLength(REPORTS);
  expect(failed.filter(({ level }) => level !== 'debug').length).toBeLessThanOrEqual(120);
  await host.drop();
}, 40_000);

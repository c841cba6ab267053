import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, type Person, type TestApp } from '../../../testing/index.ts';

const MIB = 1024 * 1024;
const BODIES = 80;
/** A body of 1 MiB without its last byte, which is never sent. */
const ALL_BUT_ONE = Buffer.alloc(MIB - 1, ' ');

let folder: string;
let app: TestApp;
let port: number;
const sockets: Socket[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-bodies-'));
  app = await createTestApp({ dialect: 'sqlite', file: join(folder, 'control.db') });
  port = Number(new URL((await app.plane.listen()).http).port);
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Sends a body without its last byte, so that the request stays open. @returns the text that was received */
function hold(as: Person | null): { answer: string } {
  const held = { answer: '' };
  const [method, path] = as === null ? ['POST', '/v1/auth/login'] : ['PATCH', '/v1/me/profile-preferences'];
  const credential = as === null ? '' : `Authorization: Bearer ${as.token}\r\n`;
  const socket = connect(port, '127.0.0.1', () => {
    socket.write(`${method} ${path} HTTP/1.1\r\nHost: a\r\n${credential}Content-Length: ${MIB}\r\n\r\n`);
    socket.write(ALL_BUT_ONE);
  });
  socket.on('data', (chunk: Buffer) => {
    held.answer += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  sockets.push(socket);
  return held;
}

const refused = (all: readonly { answer: string }[]): number =>
  all.filter(({ answer }) => answer.startsWith('HTTP/1.1 503 ')).length;

test.each([
  ['an account', (): Person | null => app.people.alice],
  ['people who are not signed in', (): Person | null => null],
] as const)('bodies of %s that never end hold 32 MiB at most, and keep nobody out', async (_, sender) => {
  const held = Array.from({ length: BODIES }, () => hold(sender()));
  await expect.poll(() => refused(held)).toBeGreaterThanOrEqual(BODIES - 32);
  expect(held.find(({ answer }) => answer !== '')?.answer).toMatch(/\r\nretry-after: 1\r\n/i);
  // Short bodies of the same sender are accepted, and long bodies of other senders.
  const short = { default_profile_id: null };
  const url = '/v1/me/profile-preferences';
  expect((await app.call(app.people.alice, 'PATCH', url, { body: short })).status).toBe(200);
  const login = { email: 'alice@example.test', password: 'wrong' };
  expect((await app.call(null, 'POST', '/v1/auth/login', { body: login })).status).toBe(401);
  const long = `${JSON.stringify(short)}${' '.repeat(MIB / 2)}`;
  expect((await app.call(app.people.bob, 'PATCH', url, { body: long })).status).toBe(200);
});

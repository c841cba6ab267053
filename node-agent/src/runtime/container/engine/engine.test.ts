import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { systemClock } from '@footlight/platform';
import { pack } from 'tar-stream';
import { expect, onTestFinished, test } from 'vitest';
import { ContainerEngine } from './engine.ts';

/** Starts a fake engine that gives the same answer to every call and records the requests. */
async function startEngine(status: number, body: string) {
  const folder = mkdtempSync(join(tmpdir(), 'footlight-engine-'));
  const path = join(folder, 'engine.sock');
  const asked: { url: string | undefined; body: string }[] = [];
  const server = createServer(async (request, answer) => {
    let sent = '';
    for await (const part of request) sent += part;
    asked.push({ url: request.url, body: sent });
    answer.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { engine: await ContainerEngine.at({ kind: 'socket', path }, systemClock), asked };
}

test('options of a container are not in the URL, which engines log', async () => {
  const { engine, asked } = await startEngine(201, '{"Id":"1"}');
  await engine.create({ name: 'footlight-1', Image: 'a', Env: ['LICENCE=secret'] });
  expect(asked).toEqual([{ url: '/containers/create?name=footlight-1', body: expect.any(String) }]);
  expect(JSON.parse(asked[0]?.body ?? '')).toEqual({ Image: 'a', Env: ['LICENCE=secret'] });
});

test.each([
  'get?names=apps/terminal&x=',
  'json?all=1&x=',
  '../../containers/json?all=1',
  'apps/../../info',
  './a',
  'a//b',
  'a%2f..%2f..',
  'a b',
  'a\nb',
  '--privileged',
  '',
])('no image is looked up or removed by the name %j', async (name) => {
  const { engine, asked } = await startEngine(200, '{"Id":"1"}');
  expect([await engine.image(name), await engine.removeImage(name)]).toEqual([null, false]);
  expect(asked).toEqual([]);
});

test.each([
  'apps/terminal',
  'service-local/attack_2:1..2-b',
  `127.0.0.1:5000/a/b@sha256:${'0'.repeat(64)}`,
  '[::1]:5000/a:1',
])('an image is looked up by the name %s', async (name) => {
  const { engine, asked } = await startEngine(200, '{"Id":"1"}');
  expect(await engine.image(name)).toMatchObject({ id: '1' });
  expect(asked.map(({ url }) => url)).toEqual([`/images/${name}/json`]);
});

function* chunks(bytes: number): Generator<Buffer> {
  const chunk = Buffer.alloc(64 * 1024);
  for (let at = 0; at < bytes; at += chunk.length) yield chunk;
}

/** Starts a fake engine that sends an archive with one file of 64 MiB and counts its open connections. */
async function startArchive() {
  const folder = mkdtempSync(join(tmpdir(), 'footlight-engine-'));
  const path = join(folder, 'engine.sock');
  const open = new Set<Socket>();
  const server = createServer((_request, answer) => {
    const archive = pack();
    const size = 64 * 1024 * 1024;
    // An error is allowed, because the client may disconnect before the end of the file.
    const file = archive.entry({ name: 'group', size }).on('error', () => undefined);
    Readable.from(chunks(size)).pipe(file);
    answer.writeHead(200, { 'content-type': 'application/x-tar' });
    archive.on('error', () => undefined).pipe(answer);
  });
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('error', () => undefined).once('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { engine: await ContainerEngine.at({ kind: 'socket', path }, systemClock), open };
}

test('a file that is too long is refused, and its connection is closed', async () => {
  const { engine, open } = await startArchive();
  await expect(engine.textFile('footlight-1', '/etc/group', 1024)).rejects.toThrow('no regular file');
  await expect.poll(() => open.size).toBe(0);
});

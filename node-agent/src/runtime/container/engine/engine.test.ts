import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@footlight/platform';
import { expect, onTestFinished, test } from 'vitest';
import { ContainerEngine } from './engine.ts';

test('what a container gets is in no address, which engines log', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'footlight-engine-'));
  const path = join(folder, 'engine.sock');
  const asked: { url: string | undefined; body: string }[] = [];
  const server = createServer(async (request, answer) => {
    let body = '';
    for await (const part of request) body += part;
    asked.push({ url: request.url, body });
    answer.writeHead(201, { 'content-type': 'application/json' }).end('{"Id":"1"}');
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const engine = await ContainerEngine.at({ kind: 'socket', path }, systemClock);
  await engine.create({ name: 'footlight-1', Image: 'a', Env: ['LICENCE=secret'] });
  expect(asked).toEqual([{ url: '/containers/create?name=footlight-1', body: expect.any(String) }]);
  expect(JSON.parse(asked[0]?.body ?? '')).toEqual({ Image: 'a', Env: ['LICENCE=secret'] });
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type OwnProcess, startOwnProcess } from '../testing/own-process.ts';

let folder: string;
let service: OwnProcess | null = null;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-drain-'));
});
afterEach(async () => {
  await service?.end('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const answerOf = async (path: string): Promise<[number, unknown]> => {
  const answer = await fetch(`${service?.url}${path}`);
  return [answer.status, await answer.json()];
};
const well = { status: 'ok', db: 'ok' };

test('a control plane that is told to stop keeps serving for SERVICE_DRAIN_SECS, while /health/ready fails', async () => {
  service = await startOwnProcess(folder, { env: { SERVICE_DRAIN_SECS: '300' } });
  expect(await answerOf('/health/ready')).toEqual([200, well]);
  service.signal('SIGTERM');
  await expect.poll(() => answerOf('/health/ready')).toEqual([503, { status: 'draining', db: 'ok' }]);
  expect(await answerOf('/health')).toEqual([200, well]);
  expect(await answerOf('/health/live')).toEqual([200, { status: 'ok' }]);
  expect((await answerOf('/v1/setup/status'))[0]).toBe(200);
  expect(service.ended).toBe(false);
  // A second signal ends the process at once.
  service.signal('SIGTERM');
  await expect.poll(() => service?.ended).toBe(true);
});

test('its answers meanwhile close their connections, so that no proxy keeps one', async () => {
  service = await startOwnProcess(folder, { env: { SERVICE_DRAIN_SECS: '300' } });
  const connection = async () => (await fetch(`${service?.url}/v1/setup/status`)).headers.get('connection');
  expect(await connection()).toBe('keep-alive');
  service.signal('SIGTERM');
  await expect.poll(connection).toBe('close');
});

test('and ends in good order when that time is over', async () => {
  service = await startOwnProcess(folder, { env: { SERVICE_DRAIN_SECS: '1' } });
  expect(await service.end('SIGTERM')).toBe(0);
});

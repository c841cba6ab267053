import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type OwnProcess, startOwnProcess } from '../testing/own-process.ts';

let folder: string;
let service: OwnProcess | null = null;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-unwritable-'));
});
afterEach(async () => {
  await service?.end('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

test('a control plane goes on when its log is on a full disk, and says so once', async () => {
  service = await startOwnProcess(folder, {
    env: { SERVICE_LOG_LEVEL: 'debug' },
    through: ['sh', '-c', 'exec "$0" "$@" >/dev/full'],
  });
  for (let request = 0; request < 20; request += 1) {
    const answer = await fetch(`${service.url}/v1/setup/status`);
    expect(answer.status).toBe(200);
  }
  expect(service.ended).toBe(false);
  expect(service.log.match(/The log cannot be written/g)).toHaveLength(1);
  expect(await service.end('SIGTERM')).toBe(0);
}, 60_000);

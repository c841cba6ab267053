import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemRandom } from '@footlight/platform';
import type { JobReport } from '@footlight/protocol/agent';
import { FakeControl } from '@footlight/test-harness/fake-control';
import { expect, test } from 'vitest';
import { startTestAgent } from '../testing/test-agent.ts';

const UIDS: [number, number] = [71_560, 71_569];
const COLLECT = '11111111-1111-4111-8111-111111111111';
const WARM_UP = '22222222-2222-4222-8222-222222222222';

test('an agent without a connection polls for runs, executes and reports them', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'agent-work-'));
  chmodSync(folder, 0o711);
  const control = await FakeControl.listen();
  const paths: string[] = [];
  const reports: JobReport[] = [];
  const order = (run_id: string, job_id: string) => ({ run_id, job_id, params: {}, deadline_secs: 3_600 });
  control.options.answers = ({ path, body, headers }) => {
    // Returns no run until the socket is closed.
    const isClosed = !control.connected && headers.authorization?.startsWith('Bearer ') === true;
    if (path !== '/v1/agent/jobs/pending' || isClosed) paths.push(path);
    if (path === '/v1/agent/jobs/pending')
      return {
        status: 200,
        body: { runs: isClosed ? [order(COLLECT, 'home.gc'), order(WARM_UP, 'template.warmup')] : [] },
      };
    if (path === '/v1/agent/jobs/report') reports.push(body as JobReport);
    return { status: 200, body: path.endsWith('gc-pending') ? { homes: [] } : { ok: true, scans: [] } };
  };
  // The first poll is made at the latest possible time, so it is after the first link is cut.
  const random = { ...systemRandom, number: () => 0.99 };
  const place = { control, stateDir: join(folder, 'state'), uids: UIDS };
  const agent = await startTestAgent(place, {}, { random });
  try {
    await control.wait('register');
    control.options.refuse = () => ({ status: 503, message: 'busy' });
    control.cut();
    await control.until(() => reports.length === 2);
    expect(control.connected).toBe(false);
    expect(paths).toEqual(expect.arrayContaining(['/v1/agent/jobs/pending', '/v1/agent/storage/gc-pending']));
    expect(
      Object.fromEntries(reports.map(({ run_id, state, summary }) => [run_id, [state, summary]])),
    ).toEqual({
      [COLLECT]: ['succeeded', { deleted: 0, kept: 0, failed: 0 }],
      [WARM_UP]: ['skipped', { reason: 'no image is installed', images: 0, workers: 0, failed: 0 }],
    });
  } finally {
    await agent.stop();
    await control.close();
    rmSync(folder, { recursive: true, force: true });
  }
}, 60_000);

test('a host that is being enrolled polls as soon as it has an identity', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'agent-work-'));
  chmodSync(folder, 0o711);
  const control = await FakeControl.listen();
  const paths: string[] = [];
  control.options.answers = ({ path }) => {
    paths.push(path);
    return { status: 200, body: path.includes('scan') ? { scans: [] } : { runs: [] } };
  };
  // The first polls are made at the earliest possible time.
  const random = { ...systemRandom, number: () => 0 };
  const agent = await startTestAgent(
    { control, stateDir: join(folder, 'state'), uids: UIDS },
    {},
    { random },
  );
  try {
    await control.until(() => paths.length >= 2);
    expect(paths.toSorted()).toEqual(['/v1/agent/jobs/pending', '/v1/agent/library/scan-pending']);
  } finally {
    await agent.stop();
    await control.close();
    rmSync(folder, { recursive: true, force: true });
  }
}, 60_000);

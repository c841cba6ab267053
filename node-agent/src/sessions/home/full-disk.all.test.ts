import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assignment, FakeControl } from '@footlight/test-harness/fake-control';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Agent } from '../../agent.ts';
import { startTestAgent } from '../../testing/test-agent.ts';
import { processesOf, tracesOf } from '../../testing/traces.ts';

const UIDS: [number, number] = [71_070, 71_079];

type Body = ReturnType<typeof assignment>;

/** Needs root, because the tests mount their own disks. */
describe.runIf(process.getuid?.() === 0)('a disk of a host', () => {
  let directory: string;
  let state: string;
  let homes: string;
  let control: FakeControl;
  let agent: Agent;
  let names = 0;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'footlight-disks-'));
    [state, homes] = [join(directory, 'state'), join(directory, 'homes')];
    for (const disk of [directory, state, homes]) {
      if (disk !== directory) {
        mkdirSync(disk);
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'footlight-test', disk]);
      }
      chmodSync(disk, 0o711);
    }
    control = await FakeControl.listen();
    agent = await startTestAgent({ control, stateDir: state, uids: UIDS }, { SERVICE_HOME_ROOT: homes });
    await control.wait('heartbeat');
  });

  afterAll(async () => {
    await agent?.stop();
    await control?.close();
    for (const disk of [state, homes]) execFileSync('umount', ['-l', disk]);
    rmSync(directory, { recursive: true, force: true });
  });

  async function launched(): Promise<Body> {
    const body = assignment(['xterm']);
    names += 1;
    body.app.home = { provider: 'local', ref: join(homes, `alice/game-${names}`), container_path: '/home' };
    expect(await control.command(body)).toMatchObject({ ok: true });
    await control.command({ type: 'session_start', session_id: body.session_id });
    return body;
  }

  const reached = (body: Body, states: readonly string[], detail?: string) =>
    control.wait(
      'session_state',
      (report) =>
        report.session_id === body.session_id &&
        (states.includes(report.state) || (detail !== undefined && report.detail === detail)),
    );

  async function running(): Promise<Body> {
    const body = await launched();
    const report = await reached(body, ['failed', 'stopped'], 'app presented');
    if (report.state !== 'running') throw new Error(`ended instead: ${JSON.stringify(report)}`);
    return body;
  }

  async function stop(body: Body): Promise<void> {
    await control.command({ type: 'session_stop', session_id: body.session_id, reason: 'user_requested' });
    expect(await reached(body, ['failed', 'stopped'])).toMatchObject({ state: 'stopped' });
    expect(processesOf(body.session_id)).toEqual([]);
  }

  /** Reconnects. @returns the host's storage checks and its sessions in the next registration */
  async function afterReconnect() {
    const from = control.messages.length;
    control.cut();
    const { sessions } = await control.wait('register', () => true, from);
    const { readiness } = await control.wait('capacity', () => true, from);
    return { sessions, storage: readiness?.find(({ id }) => id === 'storage_free') };
  }

  function fill(disk: string): void {
    const file = openSync(join(disk, 'ballast'), 'w');
    const piece = Buffer.alloc(64 * 1024);
    try {
      for (;;) if (writeSync(file, piece) < piece.length) break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(file);
    }
  }

  test.each([
    [
      'that keeps its sessions is full',
      () => fill(state),
      () => rmSync(join(state, 'ballast')),
      '(0 %)',
      'Free space at',
    ],
    [
      'that keeps the homes is read-only',
      () => execFileSync('mount', ['-o', 'remount,ro', homes]),
      () => execFileSync('mount', ['-o', 'remount,rw', homes]),
      'cannot be written to',
      'remount,rw',
    ],
  ])(
    '%s: readiness reports it with a remedy, running sessions continue, a launch fails with this reason, and free space ends it',
    async (_what, hurt, mend, summary, remedy) => {
      const body = await running();
      hurt();
      const { sessions, storage } = await afterReconnect();
      expect(storage).toMatchObject({
        status: 'fail',
        summary: expect.stringContaining(summary),
        remediation: [expect.stringContaining(remedy)],
      });
      expect(sessions).toMatchObject([{ session_id: body.session_id, state: 'running' }]);
      const refused = await launched();
      expect(await reached(refused, ['failed', 'stopped'], 'app presented')).toMatchObject({
        state: 'failed',
        failure_code: 'home_unavailable',
        error: expect.stringMatching(/ENOSPC|EROFS/),
      });
      await stop(body);
      mend();
      await stop(await running());
      const ids = [body, refused].map(({ session_id }) => session_id);
      expect(await tracesOf(state, UIDS, [], ids)).toMatchObject({
        processes: [],
        directories: [],
        cgroups: [],
      });
    },
    60_000,
  );
});

import type { ChildProcess } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Capacity } from '@footlight/protocol/agent';
import { FakeControl } from '@footlight/test-harness/fake-control';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { exitOf, startAgentProcess } from '../testing/agent-process.ts';

const UIDS: [number, number] = [71_050, 71_059];

let control: FakeControl;
let home: string;
let agent: ChildProcess;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'footlight-restart-'));
  await chmod(home, 0o711);
  control = await FakeControl.listen({
    // Answers polls, because a poll without an answer would delay the agent's stop.
    answers: () => ({ status: 200, body: { runs: [], scans: [] } }),
  });
});

afterEach(async () => {
  agent.kill('SIGKILL');
  await exitOf(agent);
  await control.close();
  await rm(home, { recursive: true, force: true });
});

/** Starts the agent again, like a supervisor that restarts it after every exit. */
function start(): void {
  agent = startAgentProcess({ control, stateDir: join(home, 'state'), uids: UIDS, uid: null });
}

/** The first capacity report after message number `from` that contains this override. */
function reportWith(gop: string, from = 0): Promise<Capacity> {
  return control.wait('capacity', ({ effective_settings }) => effective_settings?.gop === gop, from);
}

const settingsCheck = ({ readiness }: Capacity) => readiness?.find(({ id }) => id === 'settings');

test('a restart setting applies after a restart and not before; a live setting applies at once', {
  timeout: 180_000,
}, async () => {
  start();
  await control.wait('capacity');
  const settings = { encoder: 'va', gop: 31 };
  await control.command({ type: 'config_update', settings, console_config: null });
  const before = await reportWith('31');
  expect(before.effective_settings?.encoder).toBe('openh264');
  expect(settingsCheck(before)).toMatchObject({ status: 'fail' });

  expect(await control.command({ type: 'restart' })).toMatchObject({ ok: true });
  expect(await exitOf(agent)).toBe(0);
  expect(control.closes).toEqual([1001]);

  control.options = { ...control.options, settings };
  const from = control.messages.length;
  start();
  const after = await reportWith('31', from);
  expect(after.effective_settings?.encoder).toBe('va');
  expect(settingsCheck(after)).toMatchObject({ status: 'pass' });
});

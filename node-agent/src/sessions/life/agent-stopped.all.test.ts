import type { ChildProcess } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assignment, FakeControl } from '@footlight/test-harness/fake-control';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { exitOf, firstHeartbeat, startAgentProcess } from '../../testing/agent-process.ts';
import { processesOf, tracesOf } from '../../testing/traces.ts';

const UIDS: [number, number] = [71_040, 71_049];

let control: FakeControl;
let home: string;
let agent: ChildProcess;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'footlight-stopped-'));
  await chmod(home, 0o711);
  control = await FakeControl.listen();
});

afterEach(async () => {
  agent.kill('SIGKILL');
  await exitOf(agent);
  await control.close();
  await rm(home, { recursive: true, force: true });
});

async function startAgent(): Promise<void> {
  agent = startAgentProcess({ control, stateDir: join(home, 'state'), uids: UIDS, uid: null });
  await firstHeartbeat(agent, control);
}

async function runningSession(): Promise<string> {
  const body = assignment(['xterm']);
  expect(await control.command(body)).toMatchObject({ ok: true });
  await control.command({ type: 'session_start', session_id: body.session_id });
  await control.wait('session_state', ({ detail }) => detail === 'app presented');
  return body.session_id;
}

async function expectNothingLeft(sessionId: string): Promise<void> {
  expect(processesOf(sessionId)).toEqual([]);
  expect(await tracesOf(join(home, 'state'), UIDS, [], [sessionId])).toMatchObject({
    processes: [],
    directories: [],
    sharedMemory: [],
    cgroups: [],
  });
}

test('SIGTERM: sessions stop and are reported before the agent disconnects', {
  timeout: 60_000,
}, async () => {
  await startAgent();
  const sessionId = await runningSession();
  agent.kill('SIGTERM');
  expect(await exitOf(agent)).toBe(0);
  const end = await control.wait('session_state', ({ state }) => state === 'stopped');
  expect(end).toMatchObject({ session_id: sessionId, reason: 'agent_shutdown' });
  expect(control.closes).toEqual([1001]);
  await expectNothingLeft(sessionId);
});

test('a control plane that does not answer polls does not delay the stop', { timeout: 60_000 }, async () => {
  const polled = new Set<string>();
  control.options.answers = ({ path }) => {
    polled.add(path);
    return undefined;
  };
  // The first polls are made within 5 s after the start, the next ones a minute later.
  await startAgent();
  const sessionId = await runningSession();
  await vi.waitFor(
    () => {
      expect([...polled].sort()).toEqual(['/v1/agent/jobs/pending', '/v1/agent/library/scan-pending']);
    },
    { timeout: 30_000 },
  );
  agent.kill('SIGTERM');
  expect(await exitOf(agent)).toBe(0);
  await expectNothingLeft(sessionId);
});

test('restart: an ack, a clean disconnect and exit 0; the sessions end without a report', {
  timeout: 60_000,
}, async () => {
  await startAgent();
  const sessionId = await runningSession();
  expect(await control.command({ type: 'restart' })).toMatchObject({ ok: true });
  expect(await exitOf(agent)).toBe(0);
  expect(control.closes).toEqual([1001]);
  const states = control.messages.flatMap((message) =>
    message.type === 'session_state' ? [message.state] : [],
  );
  expect(states).not.toContain('stopped');
  await expectNothingLeft(sessionId);
});

test('after an outage of the control plane the session is still running', {
  timeout: 60_000,
}, async () => {
  await startAgent();
  const sessionId = await runningSession();
  const port = control.port;
  control.cut();
  await control.close();
  const back = await FakeControl.listen({}, port);
  control = back;
  const register = await back.wait('register');
  expect(register.sessions).toMatchObject([{ session_id: sessionId, state: 'running', viewer: false }]);
  await back.wait('heartbeat', ({ running_sessions }) => running_sessions.includes(sessionId));
  await back.command({ type: 'session_stop', session_id: sessionId, reason: 'user_requested' });
  await back.wait('session_state', ({ state }) => state === 'stopped');
  await expectNothingLeft(sessionId);
});

import { once } from 'node:events';
import { connect } from 'node:net';
import { assignment, type FakeControl } from '@footlight/test-harness/fake-control';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { setupRequest } from '../../display/cookie.ts';
import { EVENT_LIMIT_MS } from '../../testing/event-limit.ts';
import { type HostedSessions, startHostedSessions } from '../../testing/hosted-sessions.ts';
import { NO_TRACES, processesOf } from '../../testing/traces.ts';

let host: Awaited<ReturnType<typeof startHostedSessions>>;
let control: FakeControl;
let sessions: HostedSessions;

beforeAll(async () => {
  host = await startHostedSessions([71_010, 71_019]);
  ({ control, sessions } = host);
});

// Polled, because a session's record is removed only after the search for its user's files, which may end after the
// session.
afterEach(() => vi.waitFor(async () => expect(await sessions.traces()).toEqual(NO_TRACES), EVENT_LIMIT_MS));

afterAll(() => host?.close());

test.each([
  ['forks away', ''],
  // The parent process is stopped, because its end would otherwise also end the app.
  ['stops what started it', 'kill -STOP $PPID; '],
])('an app that ignores SIGTERM and %s is gone', async (_what, first) => {
  const body = assignment([
    '/bin/sh',
    '-c',
    `trap "" TERM; ${first}setsid sh -c 'trap "" TERM; sleep 600' & xterm & while :; do sleep 1; done`,
  ]);
  await sessions.launch(body);
  await sessions.reached(body, 'app presented');
  await sessions.stop(body);
});

test('an app that draws nothing in time', async () => {
  const body = assignment(['sleep', '60'], { app_boot_timeout_secs: 2 });
  await sessions.launch(body);
  expect(await sessions.ended(body)).toMatchObject({
    state: 'failed',
    failure_code: 'app_never_presented',
  });
});

test('no viewer connects within its idle time-out', async () => {
  const body = assignment(['xterm'], { idle_timeout_secs: 1 });
  await sessions.launch(body);
  expect(await sessions.ended(body)).toMatchObject({ state: 'stopped', reason: 'idle_timeout' });
});

test('a killed display server is reported as the failure, although its clients end too', async () => {
  const body = assignment(['xterm']);
  await sessions.launch(body);
  await sessions.reached(body, 'app presented');
  process.kill((await sessions.displayOf(body)).pid, 'SIGKILL');
  expect(await sessions.ended(body)).toMatchObject({ state: 'failed', failure_code: 'display_failed' });
});

test('a display server that hangs is noticed', async () => {
  const body = assignment(['xterm']);
  await sessions.launch(body);
  await sessions.reached(body, 'app presented');
  process.kill((await sessions.displayOf(body)).pid, 'SIGSTOP');
  expect(await sessions.ended(body)).toMatchObject({ state: 'failed', failure_code: 'display_failed' });
});

test('a display server that hangs before the first capture is noticed too', async () => {
  const body = assignment(['xterm']);
  expect(await control.command(body)).toMatchObject({ ok: true });
  const running = (name: string) =>
    processesOf(body.session_id).find(({ command }) => command.startsWith(name))?.pid;
  await expect.poll(() => running('matchbox')).toBeDefined();
  const { number, pid } = await sessions.displayOf(body);
  // A server that never answers has a longer time limit. This server refuses an unknown client, and a refusal is an
  // answer.
  const client = connect(`/tmp/.X11-unix/X${number}`);
  client.write(setupRequest(Buffer.alloc(0)));
  await once(client, 'data');
  client.destroy();
  process.kill(pid, 'SIGSTOP');
  expect(await sessions.ended(body)).toMatchObject({
    state: 'failed',
    failure_code: 'display_failed',
    // Reported by the agent, or by the media worker if the worker had a pending request at that time.
    error: expect.stringMatching(/did not answer (for 5 s|within 5000 ms)/),
  });
});

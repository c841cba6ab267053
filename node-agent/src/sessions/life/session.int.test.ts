import { join } from 'node:path';
import { assignment, type FakeControl } from '@footlight/test-harness/fake-control';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { EVENT_LIMIT_MS } from '../../testing/event-limit.ts';
import { environmentOf, type HostedSessions, startHostedSessions } from '../../testing/hosted-sessions.ts';
import { NO_TRACES, processesOf } from '../../testing/traces.ts';

let host: Awaited<ReturnType<typeof startHostedSessions>>;
let control: FakeControl;
let sessions: HostedSessions;

beforeAll(async () => {
  host = await startHostedSessions([71_000, 71_009]);
  ({ control, sessions } = host);
});

// Polled, because a session's record is removed only after the search for its user's files, which may end after the
// session.
afterEach(() => vi.waitFor(async () => expect(await sessions.traces()).toEqual(NO_TRACES), EVENT_LIMIT_MS));

afterAll(() => host?.close());

describe('one session', () => {
  test('a window on its own display: every step in order, then nothing is left', async () => {
    const body = assignment(['xterm']);
    await sessions.launch(body);
    expect(await sessions.reached(body, 'app presented')).toMatchObject({ state: 'running' });
    await sessions.displayOf(body);
    expect(sessions.details(body)).toEqual([
      'preparing home',
      'starting display',
      'starting app',
      'starting encoder',
      'app booting',
      'app presented',
    ]);
    await sessions.stop(body);
  });

  test('an app that ends before it drew fails with its output', async () => {
    const body = assignment([
      '/bin/sh',
      '-c',
      'printf "\\033[31mfirst\\033[0m\\nlast\\007 words\\n"; exit 3',
    ]);
    await sessions.launch(body);
    expect(await sessions.ended(body)).toMatchObject({
      state: 'failed',
      failure_code: 'app_exited_early',
      app_log_tail: 'first\nlast words',
    });
  });

  test('an app that crashes after it drew', async () => {
    const body = assignment(
      ['/bin/sh', '-c', 'xterm & while [ ! -e "$HOME/go" ]; do sleep 0.1; done; echo dying; exit 7'],
      {},
    );
    await sessions.launch(body);
    await sessions.reached(body, 'app presented');
    const home =
      environmentOf(
        processesOf(body.session_id).find(({ command }) => command.startsWith('xterm'))?.pid ?? 0,
      ).get('HOME') ?? '';
    await execa('touch', [join(home, 'go')]);
    expect(await sessions.ended(body)).toMatchObject({
      state: 'failed',
      failure_code: 'app_crashed',
      error: 'the app exited with status 7',
      app_log_tail: expect.stringContaining('dying'),
    });
  });

  test.each([
    ['an app that ends with status 0 after it drew', ['xterm', '-e', 'sleep 60']],
    [
      'a launcher that hands over to a program: the session ends with that program',
      ['/bin/sh', '-c', 'xterm -e sleep 60 & exit 0'],
    ],
  ])('%s', async (_what, args) => {
    const body = assignment(args);
    await sessions.launch(body);
    await sessions.reached(body, 'app presented');
    // xterm ends when the program that it runs ends.
    const inside = processesOf(body.session_id).find(({ command }) => command === 'sleep 60');
    if (!inside) throw new Error('xterm runs nothing');
    process.kill(inside.pid, 'SIGTERM');
    expect(await sessions.ended(body)).toMatchObject({ state: 'stopped', reason: 'app_exited' });
  });

  test('an app that ends with status 0 before it drew fails with its own message', async () => {
    const body = assignment(['true']);
    await sessions.launch(body);
    expect(await sessions.ended(body)).toMatchObject({
      state: 'failed',
      failure_code: 'app_exited_early',
      error: 'the app ended without showing a window (exit status 0)',
    });
  });

  test('a stop interrupts the preparation', async () => {
    const body = assignment(['xterm']);
    void control.command(body);
    await sessions.stop(body);
  });
});

describe('assignments that the agent refuses', () => {
  test.each([
    ['an image without an engine', { image: 'docker.io/library/x@sha256:'.padEnd(91, '0') }, 'image_missing'],
    ['no command', { args: [] }, 'policy'],
    ['mounts', { mounts: ['/etc:/x'] }, 'policy'],
    [
      'a home outside the root',
      { home: { provider: 'local' as const, ref: '/etc/x', container_path: '/h' } },
      'policy',
    ],
    [
      'an engine volume',
      { home: { provider: 'volume' as const, ref: 'service-home-x', container_path: '/h' } },
      'policy',
    ],
  ])('%s', async (_name, app, code) => {
    const body = assignment(['xterm']);
    Object.assign(body.app, app);
    expect(await control.command(body)).toMatchObject({ ok: false, code });
  });

  test('a codec or an encoder that the probe did not confirm', async () => {
    const body = assignment(['xterm']);
    body.stream.codec = 'av1';
    expect(await control.command(body)).toMatchObject({ ok: false, code: 'encoder_unavailable' });
  });

  test('a start of an unknown session; a stop of one is answered with stopped', async () => {
    const session_id = assignment([]).session_id;
    expect(await control.command({ type: 'session_start', session_id })).toMatchObject({
      ok: false,
      code: 'no_such_session',
    });
    expect(await control.command({ type: 'session_stop', session_id, reason: 'admin' })).toMatchObject({
      ok: true,
    });
    await control.wait('session_state', (m) => m.session_id === session_id && m.state === 'stopped');
  });
});

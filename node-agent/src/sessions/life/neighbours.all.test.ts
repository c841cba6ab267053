import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { isTerminal } from '@footlight/protocol';
import { assignment, type FakeControl } from '@footlight/test-harness/fake-control';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { holdAbstractName } from '../../linux/unix-names.ts';
import { makeCgroup, removeCgroupDirs } from '../../runtime/cgroups.ts';
import { readProcess } from '../../runtime/proc-table.ts';
import { environmentOf, type HostedSessions, startHostedSessions } from '../../testing/hosted-sessions.ts';
import { NO_TRACES, processesOf } from '../../testing/traces.ts';

const root = process.getuid?.() === 0;

let host: Awaited<ReturnType<typeof startHostedSessions>>;
let control: FakeControl;
let sessions: HostedSessions;
let stateDir: string;

beforeAll(async () => {
  host = await startHostedSessions([71_400, 71_409]);
  ({ control, sessions, stateDir } = host);
});

// Polled, because a session's record is removed only after the search for its user's files, which may end after the
// session.
afterEach(() => vi.waitFor(async () => expect(await sessions.traces()).toEqual(NO_TRACES), 20_000));

afterAll(() => host?.close());

/** Limits a process to its current memory. If control groups are not writable, a resource limit is used. */
function starve(pid: number): () => Promise<void> {
  const group = makeCgroup(`starved-${pid}`, { memoryBytes: 64 * 1024, cpus: 0 });
  if (group === null) {
    execFileSync('prlimit', ['--pid', String(pid), '--as=1048576']);
    return async () => undefined;
  }
  for (const file of group.procsFiles) writeFileSync(file, String(pid));
  // Polled, because the kernel counts a process as a member for a moment after it was reaped.
  return () => expect.poll(() => removeCgroupDirs(group.dirs)).toEqual([]);
}

describe('two sessions', () => {
  test.runIf(root)('one cannot reach the display, the cookie or the sound of the other', async () => {
    const [a, b] = [assignment(['xterm']), assignment(['xterm'])];
    await Promise.all([sessions.launch(a), sessions.launch(b)]);
    await Promise.all([sessions.reached(a, 'app presented'), sessions.reached(b, 'app presented')]);
    const app = processesOf(a.session_id).find(({ command }) => command.startsWith('xterm'));
    const other = processesOf(b.session_id).find(({ command }) => command.startsWith('xterm'));
    if (!app || !other) throw new Error('no xterm');
    const { number } = await sessions.displayOf(b);
    await sessions.displayOf(a);
    const theirs = environmentOf(other.pid);
    expect(readProcess(app.pid)?.uid).not.toBe(readProcess(other.pid)?.uid);
    // Runs a command as the app of A, in its namespaces. There, B's socket does not exist, and B's files cannot be
    // opened.
    const asA = (...command: string[]) =>
      execa(
        'nsenter',
        [
          '--target',
          String(app.pid),
          '--mount',
          '--pid',
          '--',
          'setpriv',
          '--reuid',
          String(readProcess(app.pid)?.uid),
          '--clear-groups',
          '--',
          ...command,
        ],
        { reject: false },
      );
    expect((await asA('ls', '/tmp/.X11-unix')).stdout).toBe(`X${await sessions.displayNumber(app.pid)}`);
    expect((await asA('cat', theirs.get('XAUTHORITY') ?? '')).exitCode).not.toBe(0);
    expect((await asA('ls', theirs.get('XDG_RUNTIME_DIR') ?? '')).exitCode).not.toBe(0);
    expect((await asA('xterm', '-display', `:${number}`, '-e', 'true')).exitCode).not.toBe(0);
    // In the host's own /tmp, with the wrong cookie: the socket exists, but the server refuses the client.
    const uninvited = await execa(
      'setpriv',
      [
        '--reuid',
        String(readProcess(app.pid)?.uid),
        '--clear-groups',
        '--',
        'xterm',
        '-display',
        `:${number}`,
        '-e',
        'true',
      ],
      { reject: false, env: { XAUTHORITY: environmentOf(app.pid).get('XAUTHORITY') ?? '' } },
    );
    expect(uninvited.exitCode).not.toBe(0);
    // No program listens on the abstract name that libxcb tries first, and no other program can bind it.
    expect(holdAbstractName(`/tmp/.X11-unix/X${number}`)).toBe(null);
    await expect(once(connect(`\0/tmp/.X11-unix/X${number}`), 'connect')).rejects.toThrow('ECONNREFUSED');
    await Promise.all([sessions.stop(a), sessions.stop(b)]);
  });

  test('a home has one holder; its files stay for the next one', async () => {
    const ref = join(stateDir, 'homes/alice-00000001/app-00000002');
    const home = { provider: 'local' as const, ref, container_path: '/home' };
    const make = (args: string[]) => {
      const body = assignment(args);
      body.app.home = home;
      return body;
    };
    const first = make(['/bin/sh', '-c', 'echo kept > "$HOME/file"; exec xterm']);
    await sessions.launch(first);
    await sessions.reached(first, 'app presented');
    expect((await stat(ref)).mode & 0o777).toBe(0o700);
    const second = make(['/bin/sh', '-c', 'cat "$HOME/file"; id -u; exit 1']);
    const launched = sessions.launch(second);
    await sessions.reached(second, 'waiting for the previous session to release its home');
    await sessions.stop(first);
    await launched;
    const end = await sessions.ended(second);
    expect(end.app_log_tail?.split('\n')[0]).toBe('kept');
    expect(end.home_bytes).toBeGreaterThan(0);
    if (root) expect((await stat(ref)).uid).toBe(0);
  });

  test.each([
    ['is killed', (pid: number) => void process.kill(pid, 'SIGKILL')],
    ['crashes', (pid: number) => void process.kill(pid, 'SIGSEGV')],
    ['stands still', (pid: number) => void process.kill(pid, 'SIGSTOP')],
    ['runs out of memory', starve],
  ])('a media worker that %s: only its session ends', async (_what, hurt) => {
    const [a, b] = [assignment(['xterm']), assignment(['xterm'])];
    await Promise.all([sessions.launch(a), sessions.launch(b)]);
    await Promise.all([sessions.reached(a, 'app presented'), sessions.reached(b, 'app presented')]);
    const uid = readProcess((await sessions.displayOf(a)).pid)?.uid;
    await sessions.displayOf(b);
    const { stdout } = await execa('pgrep', ['-u', String(uid), '-f', 'worker-main'], { reject: false });
    if (root) {
      const heal = hurt(Number.parseInt(stdout, 10));
      expect(await sessions.ended(a)).toMatchObject({
        state: 'failed',
        failure_code: 'media_worker_crashed',
      });
      await heal?.();
    } else {
      await sessions.stop(a);
    }
    expect(
      control.messages.some(
        (m) => m.type === 'session_state' && m.session_id === b.session_id && isTerminal(m.state),
      ),
    ).toBe(false);
    await sessions.stop(b);
  });
});

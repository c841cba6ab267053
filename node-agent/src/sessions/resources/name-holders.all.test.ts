import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLogger, systemClock } from '@footlight/platform';
import { isTerminal, type SessionStateName } from '@footlight/protocol';
import { assignment, FakeControl } from '@footlight/test-harness/fake-control';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { exitOf, firstHeartbeat, startAgentProcess } from '../../testing/agent-process.ts';
import { NameHolders } from './name-holders.ts';

const UIDS: [number, number] = [71_160, 71_169];

/** Shows a window, and binds every free abstract name of a display. */
const TAKE_ALL = `
import os, resource, socket, subprocess, time
subprocess.Popen(["xterm"])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
time.sleep(1)
held = []
for number in range(1000):
  s = socket.socket(socket.AF_UNIX)
  try: s.bind("\\0/tmp/.X11-unix/X%d" % number)
  except OSError: continue
  s.listen()
  held.append(s)
`;
const IN_DESCRIPTORS = 'in its own descriptors' as const;
const IN_A_CHILD = 'in a child without the variables of the session';
/** Ways to keep the names bound. */
const WAYS = {
  [IN_DESCRIPTORS]: 'time.sleep(600)',
  [IN_A_CHILD]: `
if os.fork() == 0: os.execve("/bin/sleep", ["sleep", "600"], {})
time.sleep(600)`,
};
/** Binds one name that looks like a line of /proc/net/unix about a socket of another session. */
const WRITE_A_LINE = `
import re, socket, time
inode = re.search(r" 01 +(\\d+) @footlight-neighbour", open("/proc/net/unix").read()).group(1)
s = socket.socket(socket.AF_UNIX)
s.bind("\\0x\\n0: 00000002 00000000 00010000 0001 01 %s @/tmp/.X11-unix/X999" % inode)
print(".", flush=True)
time.sleep(600)
`;
const LISTEN = `
import socket, time
s = socket.socket(socket.AF_UNIX)
s.bind("\\0footlight-neighbour")
s.listen()
print(".", flush=True)
time.sleep(600)
`;

/** An ordinary user that exists on every Debian. Its apps share the host's network, with or without `pasta`. */
const NOBODY = 65_534;
const root = process.getuid?.() === 0;

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(root ? '/srv/footlight-names-' : '/var/tmp/footlight-names-');
  await chmod(directory, 0o711);
});

afterAll(() => rm(directory, { recursive: true, force: true }));

async function python(name: string, script: string): Promise<string[]> {
  const file = join(directory, name);
  await writeFile(file, script, { mode: 0o644 });
  return ['/usr/bin/python3', file];
}

describe.runIf(root)('with a user of its own', () => {
  const running: ChildProcess[] = [];

  afterEach(async () => {
    for (const child of running.splice(0)) {
      if (child.pid) process.kill(-child.pid, 'SIGKILL');
      await exitOf(child);
    }
  });

  /** Starts a program of a session in the host's network, and waits for its first output. */
  async function start(uid: number, name: string, script: string): Promise<void> {
    const argv = await python(name, `${script.replace('["xterm"]', '["true"]')}`);
    const user = ['--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--'];
    const child = spawn('setpriv', [...user, ...argv], {
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    running.push(child);
    await once(child.stdout, 'data');
  }

  /**
   * Searches once.
   * @returns for each session that was ended: its uid, and the display numbers whose names it had bound
   */
  async function look(uids: readonly number[]): Promise<Map<number, readonly number[]>> {
    const ended = new Map<number, readonly number[]>();
    const sessions = uids.map((uid) => ({
      id: String(uid),
      uid,
      isEnding: false,
      ended: Promise.resolve(),
      endNameHolder: (numbers: readonly number[]) => void ended.set(uid, numbers),
    }));
    const holders = new NameHolders({
      clock: systemClock,
      logger: silentLogger(),
      sessions: () => sessions,
    });
    await holders.search();
    return ended;
  }

  test.each(Object.entries(WAYS))(
    'all thousand %s: its session is ended, and no other',
    async (_way, keep) => {
      await start(
        UIDS[0],
        'take-all.py',
        TAKE_ALL + keep.replace('time.sleep(600)', 'print(".", flush=True)\ntime.sleep(600)'),
      );
      const ended = await look(UIDS);
      expect([...ended.keys()]).toEqual([UIDS[0]]);
      expect(ended.get(UIDS[0])?.length).toBeGreaterThan(900);
    },
  );

  test('a name that fakes a line about a neighbour ends no session', async () => {
    await start(UIDS[0], 'neighbour.py', LISTEN);
    await start(UIDS[1], 'line.py', WRITE_A_LINE);
    expect(await look(UIDS)).toEqual(new Map());
  });
});

describe('if apps share the agent’s user', () => {
  let control: FakeControl;
  let agent: ChildProcess;

  beforeAll(async () => {
    const stateDir = join(directory, 'state');
    await mkdir(stateDir, { mode: 0o711 });
    if (root) await chown(stateDir, NOBODY, NOBODY);
    control = await FakeControl.listen();
    agent = startAgentProcess({ control, stateDir, uids: UIDS, uid: root ? NOBODY : null });
    await firstHeartbeat(agent, control);
  });

  afterAll(async () => {
    agent.kill('SIGTERM');
    await exitOf(agent);
    await control.close();
  });

  async function launch(args: string[]): Promise<string> {
    const body = assignment(args);
    expect(await control.command(body)).toMatchObject({ ok: true });
    await control.command({ type: 'session_start', session_id: body.session_id });
    return body.session_id;
  }

  function reports(session: string, found: (report: Report) => boolean) {
    return control.wait('session_state', (report) => report.session_id === session && found(report));
  }

  async function stop(session: string): Promise<void> {
    await control.command({ type: 'session_stop', session_id: session, reason: 'user_requested' });
    await reports(session, ({ state }) => isTerminal(state));
  }

  test.each([IN_DESCRIPTORS] as const)(
    'all thousand %s: the app is ended, and the next launch works',
    async (way) => {
      const neighbour = await launch(['xterm']);
      expect(await reports(neighbour, isShown)).toMatchObject({ state: 'running' });
      const hostile = await launch(await python('take-all.py', TAKE_ALL + WAYS[way]));
      expect(await reports(hostile, ({ state }) => isTerminal(state))).toMatchObject({
        state: 'failed',
        failure_code: 'display_name_taken',
      });
      const told = await control.wait(
        'session_trace_event',
        (event) => event.session_id === hostile && event.event === 'display.name_taken',
      );
      expect(Number(told.payload.count)).toBeGreaterThan(900);
      const next = await launch(['xterm']);
      expect(await reports(next, isShown)).toMatchObject({ state: 'running' });
      await Promise.all([stop(neighbour), stop(next)]);
    },
  );
});

interface Report {
  detail?: string | undefined;
  state: SessionStateName;
}

function isShown(report: Report): boolean {
  return report.detail === 'app presented' || isTerminal(report.state);
}

import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Agent } from '../agent.ts';
import { assignment } from '../testing/assignments.ts';
import { ControlStandIn } from '../testing/control-stand-in.ts';
import { startTestAgent } from '../testing/test-agent.ts';

const UIDS: [number, number] = [71_160, 71_169];

/** Shows a window, and takes every name that is free. */
const TAKE_ALL = `
import os, socket, subprocess, sys, time
subprocess.Popen(["xterm"])
resource = __import__("resource")
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
/** How the names are kept once they are taken. */
const WAYS = {
  'in its own descriptors': 'time.sleep(600)',
  'in a child without the variables of the session': `
if os.fork() == 0: os.execve("/bin/sleep", ["sleep", "600"], {})
time.sleep(600)`,
  'in messages that nobody reads': `
keep = []
while held:
  a, b = socket.socketpair(socket.AF_UNIX)
  while len(held) % 200 or not keep:
    some, held = held[:10], held[10:]
    if not some: break
    socket.send_fds(a, [b"x"], [s.fileno() for s in some])
    for s in some: s.close()
    if not len(held) % 100: break
  keep.append((a, b))
time.sleep(600)`,
};
/** Binds one name that reads like a line of /proc/net/unix about a socket of its neighbour. */
const WRITE_A_LINE = `
import glob, re, socket, subprocess, time
subprocess.Popen(["xterm"])
inode = re.search(r" 01 +(\\d+) /tmp/.X11-unix/X", open("/proc/net/unix").read()).group(1)
s = socket.socket(socket.AF_UNIX)
s.bind("\\0x\\n0: 00000002 00000000 00010000 0001 01 %s @/tmp/.X11-unix/X999" % inode)
time.sleep(600)
`;

let control: ControlStandIn;
let agent: Agent;
let stateDir: string;

beforeAll(async () => {
  stateDir = await mkdtemp(join('/var/tmp', 'footlight-names-'));
  await chmod(stateDir, 0o711);
  control = await ControlStandIn.listen();
  agent = await startTestAgent({ control, stateDir: join(stateDir, 'state'), uids: UIDS });
  await control.wait('heartbeat');
});

afterAll(async () => {
  await agent?.stop();
  await control?.close();
  await rm(stateDir, { recursive: true, force: true });
});

async function launch(args: string[]) {
  const body = assignment(args);
  expect(await control.command(body)).toMatchObject({ ok: true });
  await control.command({ type: 'session_start', session_id: body.session_id });
  return body.session_id;
}

function reports(
  session: string,
  found: (report: { detail?: string | undefined; state: string }) => boolean,
) {
  return control.wait('session_state', (report) => report.session_id === session && found(report));
}

const isOver = ({ state }: { state: string }) => state === 'stopped' || state === 'failed';
const isShown = ({ detail, state }: { detail?: string | undefined; state: string }) =>
  detail === 'app presented' || isOver({ state });

async function python(name: string, script: string): Promise<string[]> {
  const file = join(stateDir, name);
  await writeFile(file, script, { mode: 0o644 });
  return ['/usr/bin/python3', file];
}

async function stop(session: string): Promise<void> {
  await control.command({ type: 'session_stop', session_id: session, reason: 'user_requested' });
  await reports(session, isOver);
}

describe('an app that holds the names of displays', () => {
  test.each(Object.entries(WAYS))(
    'all thousand, %s: it is ended, and the next launch works',
    async (_way, keep) => {
      const neighbour = await launch(['xterm']);
      expect(await reports(neighbour, isShown)).toMatchObject({ state: 'running' });
      const hostile = await launch(await python('take-all.py', TAKE_ALL + keep));
      expect(await reports(hostile, isOver)).toMatchObject({
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

  test('one that writes a line about its neighbour into a name ends nobody else', async () => {
    const neighbour = await launch(['xterm']);
    await reports(neighbour, isShown);
    const hostile = await launch(await python('line.py', WRITE_A_LINE));
    expect(await reports(hostile, isShown)).toMatchObject({ state: 'running' });
    // Takes all names as well, so that the agent looks.
    const other = await launch(await python('take-all.py', TAKE_ALL + WAYS['in its own descriptors']));
    expect(await reports(other, isOver)).toMatchObject({ failure_code: 'display_name_taken' });
    await stop(neighbour);
    expect(await reports(neighbour, isOver)).toMatchObject({ state: 'stopped', reason: 'user_requested' });
    await stop(hostile);
  });
});

import { type ChildProcess, execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assignment, FakeControl } from '@footlight/test-harness/fake-control';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listProcesses } from '../../runtime/proc-table.ts';
import { exitOf, firstHeartbeat, startAgentProcess } from '../../testing/agent-process.ts';

const UIDS: [number, number] = [71_200, 71_209];

/**
 * Shows a window, shares a memory segment of 4,242 bytes with its display, and creates a message queue. Ends if the
 * display reports an error.
 */
const SHARE = `
import ctypes, os, subprocess, time
x11, xext, libc = (ctypes.CDLL(name) for name in ("libX11.so.6", "libXext.so.6", None))
class Segment(ctypes.Structure):
  _fields_ = [("seg", ctypes.c_ulong), ("id", ctypes.c_int), ("address", ctypes.c_void_p), ("read_only", ctypes.c_int)]
x11.XOpenDisplay.restype = libc.shmat.restype = ctypes.c_void_p
display = ctypes.c_void_p(x11.XOpenDisplay(None))
segment = Segment(0, libc.shmget(0, 4242, 0o1600), None, 0)
segment.address = libc.shmat(segment.id, None, 0)
assert xext.XShmAttach(display, ctypes.byref(segment))
x11.XSync(display, 0)
assert libc.mq_open(b"/footlight-left", os.O_CREAT | os.O_RDWR, 0o666, None) != -1
subprocess.Popen(["xterm"])
time.sleep(600)
`;

/** Attaches every memory segment that it can, and prints these segments. */
const ATTACH_ALL = `
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_ssize_t
header, *rows = (line.split() for line in open("/proc/sysvipc/shm"))
got = 0
for row in rows:
  fields = dict(zip(header, row))
  if int(fields["uid"]) != os.getuid() and libc.shmat(int(fields["shmid"]), None, 0) != -1:
    print("GOT a segment of", fields["uid"])
mine = libc.shmget(0, 4711, 0o1600)
if libc.mq_open(b"/footlight-left", os.O_RDWR) != -1 or os.path.exists("/dev/mqueue/footlight-left"): print("GOT a queue")
print("END", mine >= 0)
sys.exit(1)
`;

interface Segment {
  bytes: number;
  attached: number;
  uid: number;
}

/** The memory segments in the IPC namespace of a process. */
function segmentsAround(pid: number): Segment[] {
  const text = execFileSync('nsenter', [`--ipc=/proc/${pid}/ns/ipc`, 'cat', '/proc/sysvipc/shm'], {
    encoding: 'utf8',
  });
  const [header = [], ...rows] = text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  const field = (row: string[], name: string) => Number(row[header.indexOf(name)]);
  return rows.map((row) => ({
    bytes: field(row, 'size'),
    attached: field(row, 'nattch'),
    uid: field(row, 'uid'),
  }));
}

function ipcNamespace(pid: number): string {
  return readlinkSync(`/proc/${pid}/ns/ipc`);
}

describe.runIf(process.getuid?.() === 0)('shared memory of sessions with users of their own', () => {
  let directory: string;
  let control: FakeControl;
  let agent: ChildProcess;

  beforeAll(async () => {
    // Not below /tmp or /var/tmp, because each session of a root agent has its own private ones.
    directory = await mkdtemp('/srv/footlight-shared-');
    await chmod(directory, 0o711);
    const stateDir = join(directory, 'state');
    await mkdir(stateDir, { mode: 0o711 });
    control = await FakeControl.listen();
    agent = startAgentProcess({ control, stateDir, uids: UIDS, uid: null });
    await firstHeartbeat(agent, control);
  });

  afterAll(async () => {
    agent.kill('SIGTERM');
    await exitOf(agent);
    await control.close();
    await rm(directory, { recursive: true, force: true });
  });

  async function launch(name: string, script: string): Promise<string> {
    const file = join(directory, name);
    await writeFile(file, script, { mode: 0o644 });
    const body = assignment(['/usr/bin/python3', file]);
    expect(await control.command(body)).toMatchObject({ ok: true });
    await control.command({ type: 'session_start', session_id: body.session_id });
    return body.session_id;
  }

  test('another session cannot attach the picture, which capture, display and app share', async () => {
    const victim = await launch('share.py', SHARE);
    const shown = await control.wait(
      'session_state',
      (report) =>
        report.session_id === victim && (report.detail === 'app presented' || report.state === 'failed'),
    );
    expect(shown).toMatchObject({ state: 'running' });
    const [display] = listProcesses().filter(
      ({ uid, pid }) =>
        uid >= UIDS[0] && uid <= UIDS[1] && readFileSync(`/proc/${pid}/comm`, 'utf8') === 'Xvfb\n',
    );
    if (display === undefined) throw new Error('no display');
    const shared = segmentsAround(display.pid).filter(({ attached }) => attached === 2);
    // The picture of the capture, and the app's segment.
    expect(shared.filter(({ bytes }) => bytes === 640 * 480 * 4)).not.toEqual([]);
    expect(shared.filter(({ bytes }) => bytes === 4_242)).toHaveLength(1);

    const hostile = await launch('attach-all.py', ATTACH_ALL);
    const end = await control.wait(
      'session_state',
      (report) => report.session_id === hostile && report.state === 'failed',
    );
    expect(String(end.app_log_tail).trim().split('\n')).toEqual(['END True']);
    // A session must not share the IPC namespace of the agent or of another session.
    const own = listProcesses().filter(({ uid }) => uid === display.uid);
    expect(new Set(own.map(({ pid }) => ipcNamespace(pid)))).toEqual(new Set([ipcNamespace(display.pid)]));
    expect(ipcNamespace(display.pid)).not.toBe(ipcNamespace(process.pid));
    await control.command({ type: 'session_stop', session_id: victim, reason: 'admin' });
    await control.wait(
      'session_state',
      (report) => report.session_id === victim && report.state === 'stopped',
    );
  });
});

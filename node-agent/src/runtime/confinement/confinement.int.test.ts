import { chownSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runApps } from '../../testing/apps-process.ts';
import { BLOCKED } from '../../testing/blocked-call.ts';
import type { AppRun } from '../../testing/run-apps.ts';
import { makeStateDir } from '../../testing/runtime-app.ts';

const UID = 71_100;

/** Tries each way to create a user namespace and to get a capability. Prints the results. */
const PROBE = `
import ctypes, json, os
libc = ctypes.CDLL(None, use_errno=True)
NEWUSER, SIGCHLD = 0x10000000, 17
def call(*numbers):
    pid = os.fork()
    if pid == 0:
        ctypes.set_errno(0)
        result = libc.syscall(*(ctypes.c_long(number) if isinstance(number, int) else number for number in numbers))
        if result == 0 and numbers[0] == 56: os._exit(0)
        os._exit(ctypes.get_errno() if result < 0 else 0)
    return os.strerror(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
class CloneArguments(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in "flags pidfd child parent signal stack size tls".split()]
arguments = CloneArguments(flags=NEWUSER, signal=SIGCHLD)
found = {
    "unshare": call(272, NEWUSER),
    "unshare with mounts": call(272, NEWUSER | 0x20000),
    "clone": call(56, NEWUSER | SIGCHLD, 0, 0, 0, 0),
    "clone3": call(435, ctypes.byref(arguments), 64),
    "setns": call(308, os.open("/proc/self/ns/user", 0), 0),
}
import subprocess, threading
thread = threading.Thread(target=lambda: found.update(thread="runs"))
thread.start(); thread.join()
found["child"] = subprocess.run(["id", "-u"], capture_output=True, text=True).stdout.strip()
found["unshare(1)"] = subprocess.run(["unshare", "-Ur", "true"]).returncode
for line in open("/proc/self/status"):
    name, value = line.split(":", 1)
    if name.startswith("Cap") or name in ("Seccomp", "NoNewPrivs"): found[name] = value.strip()
print(json.dumps(found))
`;

/**
 * Stores a key in the kernel, or searches for it: in the user's keyring, and in the session keyring that is inherited
 * from the agent.
 */
const KEYS = `
import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
ADD_KEY, KEYCTL, SEARCH = 248, 250, 10
USER, SESSION = -4, -3
for ring in (USER, SESSION):
    if sys.argv[1] == "keep": libc.syscall(ADD_KEY, b"user", b"footlight", b"secret", 6, ring)
    elif libc.syscall(KEYCTL, SEARCH, ring, b"user", b"footlight", 0) > 0: print("found", ring)
print("ready", flush=True)
if sys.argv[1] == "keep": time.sleep(60)
`;

/** Calls that give access to large parts of the kernel that apps do not need. */
const SURFACE = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
calls = {"io_uring_setup": (425, 1, 0), "bpf": (321, 99, 0, 0), "perf_event_open": (298, 0, 0, 0, 0, 0),
    "userfaultfd": (323, 1), "io_setup": (206, 60000, ctypes.byref(ctypes.c_ulong(0))), "add_key": (248, 0, 0, 0, 0, 0), "request_key": (249, 0, 0, 0, 0), "keyctl": (250, 0, -3, 0), "pidfd_getfd": (438, -1, 0, 0)}
for name, numbers in calls.items():
    ctypes.set_errno(0)
    libc.syscall(*numbers)
    print(name, os.strerror(ctypes.get_errno()))
`;

/** Tries each way to create a setuid file, and ordinary uses of the same calls. */
const SETUID = `
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
os.chdir(os.environ["HOME"])
HERE, CREATE, TEMPORARY = -100, os.O_CREAT | os.O_RDWR, os.O_TMPFILE | os.O_RDWR
def call(name, *numbers):
    ctypes.set_errno(0)
    libc.syscall(*(ctypes.c_long(number) if isinstance(number, int) else number for number in numbers))
    print(name, os.strerror(ctypes.get_errno()))
for mode in (0o4755, 0o755):
    print(oct(mode))
    file = os.open(f"file{mode}", CREATE, 0o755)
    own = f"file{mode}".encode()
    call("chmod", 90, own, mode)
    call("fchmod", 91, file, mode)
    call("fchmodat", 268, HERE, own, mode)
    call("fchmodat2", 452, HERE, own, mode, 0)
    call("open", 2, b"open%d" % mode, CREATE, mode)
    call("open without a name", 2, b".", TEMPORARY, mode)
    call("openat", 257, HERE, b"openat%d" % mode, CREATE, mode)
    call("openat of a file that is there", 257, HERE, own, os.O_RDWR, 0o4755)
    call("creat", 85, b"creat%d" % mode, mode)
    call("mknod", 133, b"mknod%d" % mode, 0o100000 | mode, 0)
    call("mknodat", 259, HERE, b"mknodat%d" % mode, 0o100000 | mode, 0)
    how = struct.pack("QQQ", CREATE, mode, 0)
    call("openat2", 437, HERE, b"openat2%d" % mode, how, len(how))
print([name for name in os.listdir(".") if os.stat(name).st_mode & 0o4000])
`;

let stateDir: string;

const run = (apps: AppRun['apps']): Promise<string> => runApps(stateDir, { apps });

async function probe(extra: object): Promise<Record<string, string>> {
  const stdout = await run([
    { args: ['python3', '-c', PROBE], uid: UID, spec: { network: 'none', ...extra } },
  ]);
  return JSON.parse(stdout.split('\n').at(-1) ?? '');
}

/** Only on x86-64, because PROBE uses the call numbers of x86-64. */
describe.runIf(process.getuid?.() === 0 && process.arch === 'x64')(
  'what an app of a root agent may do',
  () => {
    beforeAll(() => {
      stateDir = makeStateDir();
    });
    afterAll(() => rmSync(stateDir, { recursive: true, force: true }));

    test('the kernel kills it before the agent when memory runs out', async () => {
      const args = ['cat', '/proc/self/oom_score_adj'];
      const own = Number(readFileSync('/proc/self/oom_score_adj', 'utf8'));
      expect(Number(await run([{ args, uid: UID, spec: { network: 'none' } }]))).toBeGreaterThan(own);
    });

    const noCapability = Object.fromEntries(
      ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((name) => [name, '0'.repeat(16)]),
    );

    test('it cannot create a user namespace or get a capability; threads and children work', async () => {
      expect(await probe({})).toEqual({
        ...{ unshare: 'Operation not permitted', 'unshare with mounts': 'Operation not permitted' },
        // With this error the C library assumes a kernel without clone3, and uses clone.
        ...{ clone: 'Operation not permitted', clone3: BLOCKED },
        ...{ setns: 'Operation not permitted', 'unshare(1)': 1 },
        ...{ thread: 'runs', child: String(UID) },
        ...noCapability,
        ...{ NoNewPrivs: '1', Seccomp: '2' },
      });
    });

    test('one with its own sandbox can create user namespaces, but gets no capability outside them', async () => {
      expect(await probe({ systempaths_unconfined: true })).toMatchObject({
        ...{ unshare: 'Success', clone: 'Success', clone3: 'Success', 'unshare(1)': 0 },
        ...noCapability,
        ...{ NoNewPrivs: '1', Seccomp: '2' },
      });
    });

    test.each([{}, { systempaths_unconfined: true }])(
      'parts of the kernel that it does not need: %j',
      async (extra) => {
        const spec = { network: 'none' as const, ...extra };
        const lines = (await run([{ args: ['python3', '-c', SURFACE], uid: UID, spec }])).split('\n');
        expect(lines.filter((line) => !line.endsWith(` ${BLOCKED}`))).toEqual([]);
        expect(lines).toHaveLength(9);
      },
    );

    // Another user who runs a setuid file, or keeps it open, could act as the user of all later sessions with this uid.
    test.each([{}, { systempaths_unconfined: true }])('it makes no setuid file: %j', async (extra) => {
      const spec = { network: 'none' as const, ...extra };
      const lines = (await run([{ args: ['python3', '-c', SETUID], uid: UID, spec }])).split('\n');
      const honest = lines.indexOf('0o755');
      const outcome = (line: string) => line.replace(/^.*? (?=Operation|Success|Function)/, '');
      const refused = lines.slice(1, honest).map(outcome);
      expect(refused).toEqual([
        ...Array(7).fill('Operation not permitted'),
        'Success',
        ...Array(3).fill('Operation not permitted'),
        BLOCKED,
      ]);
      const made = lines.slice(honest + 1, -1).map(outcome);
      expect(made).toEqual([...Array(11).fill('Success'), BLOCKED]);
      expect(lines.at(-1)).toBe('[]');
    });

    // The host gives the writer's uid access to journals and core files (access lists) and crash reports (owner).
    test('it sees no data that the host stores per uid, because an earlier session had the same uid', async ({
      onTestFinished,
    }) => {
      const places = ['/var/log/journal', '/run/log/journal', '/var/lib/systemd/coredump', '/var/crash'];
      const files = places.map((place) => {
        const first = mkdirSync(place, { recursive: true });
        const file = join(place, `footlight-test-${process.pid}`);
        onTestFinished(() => rmSync(first ?? file, { recursive: true }));
        writeFileSync(file, 'what a former session wrote', { mode: 0o644 });
        return file;
      });
      const args = [
        'sh',
        '-c',
        'cat "$@" 2>/dev/null; for file; do touch "$file" 2>/dev/null; done; echo "end"',
      ];
      const spec = { network: 'none' as const };
      expect(await run([{ args: [...args, 'sh', ...files], uid: UID, spec }])).toBe('end');
      expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(
        files.map(() => 'what a former session wrote'),
      );
    });

    test('keys that a session stores in the kernel are not visible to the next holder of its uid, nor to others', async () => {
      const app = (what: string, uid: number) => ({
        ...{ args: ['python3', '-c', KEYS, what], uid, spec: { network: 'none' as const } },
      });
      expect(await run([app('keep', UID), app('look', UID)])).toBe('ready');
      expect(await run([app('keep', UID), app('look', UID + 1)])).toBe('ready');
    });
  },
);

/** Debian's user without rights. It has a name, which a session bus needs. */
const NOBODY = 65_534;

test.runIf(process.getuid?.() === 0)(
  'an app of an agent without root sees no file of the agent and no other process, and has a session bus',
  async () => {
    const stateDir = makeStateDir();
    try {
      writeFileSync(join(stateDir, 'node.json'), 'the secret of the agent', { mode: 0o644 });
      chownSync(stateDir, NOBODY, NOBODY);
      const script = [
        `cat ${join(stateDir, 'node.json')} 2>/dev/null`,
        'ls /proc | grep -c "^[0-9]*$"',
        'grep -E "Seccomp:|NoNewPrivs|CapEff" /proc/self/status',
        'dbus-send --session --dest=org.freedesktop.DBus --print-reply / org.freedesktop.DBus.GetId | wc -l',
        'touch "$HOME/kept" && ls "$HOME"',
      ].join('; ');
      const output = await runApps(stateDir, { apps: [{ args: ['sh', '-c', script], uid: NOBODY }] }, NOBODY);
      const [processes, ...rest] = output.split('\n');
      // The processes are bwrap, the shell, ls and grep.
      expect(Number(processes)).toBeLessThan(6);
      expect(rest).toEqual([
        ...['CapEff:\t0000000000000000', 'NoNewPrivs:\t1', 'Seccomp:\t2'],
        ...['2', 'kept'],
      ]);
    } finally {
      rmSync(stateDir, { recursive: true });
    }
  },
);

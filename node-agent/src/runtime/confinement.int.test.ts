import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const UID = 71_100;

/** Tries each way to a user namespace, and to a capability, and prints what came of it. */
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

let stateDir: string;

async function probe(extra: object): Promise<Record<string, string>> {
  const program = join(import.meta.dirname, '..', 'testing', 'run-apps.ts');
  const apps = [{ args: ['python3', '-c', PROBE], uid: UID, spec: { network: 'none', ...extra } }];
  const { stdout } = await execa(
    process.execPath,
    ['--import', 'tsx', program, stateDir, JSON.stringify(apps)],
    { cwd: import.meta.dirname },
  );
  return JSON.parse(stdout.split('\n').at(-1) ?? '');
}

/** The numbers of the calls in PROBE are those of x86-64. */
describe.runIf(process.getuid?.() === 0 && process.arch === 'x64')(
  'what an app of a root agent may do',
  () => {
    beforeAll(() => {
      stateDir = mkdtempSync('/var/tmp/footlight-confinement-');
      chmodSync(stateDir, 0o711);
    });
    afterAll(() => rmSync(stateDir, { recursive: true, force: true }));

    const noCapability = Object.fromEntries(
      ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((name) => [name, '0'.repeat(16)]),
    );

    test('it makes no user namespace, in no way, and gets no capability; threads and children work', async () => {
      expect(await probe({})).toEqual({
        ...{ unshare: 'Operation not permitted', 'unshare with mounts': 'Operation not permitted' },
        // The C library takes this for a kernel that does not have clone3, and uses clone.
        ...{ clone: 'Operation not permitted', clone3: 'Function not implemented' },
        ...{ setns: 'Operation not permitted', 'unshare(1)': 1 },
        ...{ thread: 'runs', child: String(UID) },
        ...noCapability,
        ...{ NoNewPrivs: '1', Seccomp: '2' },
      });
    });

    test('one with a sandbox of its own makes user namespaces, and gets no capability outside them', async () => {
      expect(await probe({ systempaths_unconfined: true })).toMatchObject({
        ...{ unshare: 'Success', clone: 'Success', clone3: 'Success', 'unshare(1)': 0 },
        ...noCapability,
        ...{ NoNewPrivs: '1', Seccomp: '0' },
      });
    });
  },
);

import { rmSync } from 'node:fs';
import { release } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runApps } from '../../testing/apps-process.ts';
import { makeStateDir } from '../../testing/runtime-app.ts';
import { MAX_SOCKETS, netlinkBytes, socketExcess } from './app-sockets.ts';

const UID = 71_095;

/** Fills netlink sockets: for each refused message, the kernel queues an error that contains a copy of the message. */
const FILL = `
import os, resource, socket, struct, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
refused = struct.pack("IHHII", 100016, 0x7ff0, 1, 1, 0) + b"x" * 100000
kept = []
for number in range(600):
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 30)
    for again in range(4):
        try: sock.sendto(refused, (0, 0))
        except OSError: pass
    kept.append(sock)
time.sleep(10)
print("it went on")
`;
/** Opens more sockets than an app may have, in several processes. */
const OPEN = `
import os, resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
for process in range(10):
    if os.fork() == 0:
        kept = [socket.socket(socket.AF_UNIX) for number in range(${Math.ceil(MAX_SOCKETS / 10) + 10})]
        time.sleep(10)
        os._exit(0)
time.sleep(10)
print("it went on")
`;
/**
 * Uses sockets like an ordinary program: has many sockets, and does not read the netlink answers about the host's
 * network.
 */
const HONEST = `
import resource, socket, struct, time
kept = [socket.socket(socket.AF_UNIX) for number in range(700)]
dump = struct.pack("IHHII", 17, 22, 0x301, 1, 0) + b"\\0"
for number in range(200):
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    sock.sendto(dump, (0, 0))
    kept.append(sock)
time.sleep(1.5)
print("it went on")
`;

/** Before Linux 6.7, this value belongs to the whole machine instead of a namespace. */
const OPTIONS = 'print(open("/proc/sys/net/core/optmem_max").read().strip())';

test.each([
  [{ sockets: MAX_SOCKETS, netlinkBytes: 64 * 1024 ** 2 }, null],
  [{ sockets: MAX_SOCKETS + 1, netlinkBytes: 0 }, expect.stringContaining('4097 open sockets')],
  [{ sockets: 200, netlinkBytes: 64 * 1024 ** 2 + 1 }, expect.stringContaining('netlink')],
])('%j: %s', (use, why) => {
  expect(socketExcess(use)).toEqual(why);
});

test('unread netlink data is the sum of a column', () => {
  const head = 'sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode';
  const row = (rmem: number) =>
    `00000000cee73af1 0   2811       00000000 ${String(rmem).padEnd(8)} 0        0     2        0        7838011`;
  expect(netlinkBytes(`${head}\n${row(0)}\n${row(213_504)}\n${row(4)}\n`)).toBe(213_508);
  expect(netlinkBytes(head)).toBe(0);
});

describe.runIf(process.getuid?.() === 0)('an app of a root agent', () => {
  let stateDir: string;

  beforeAll(() => {
    stateDir = makeStateDir();
  });
  afterAll(() => rmSync(stateDir, { recursive: true, force: true }));

  function run(script: string): Promise<string> {
    const args = ['python3', '-c', script];
    return runApps(stateDir, { apps: [{ args, uid: UID, spec: { network: 'none' } }] });
  }

  test('that fills netlink sockets with more data than its memory limit is ended', async () => {
    const output = await run(FILL);
    expect(output).toMatch(/Footlight ended this app: the app leaves \d+ MiB unread in netlink sockets/);
    expect(output).not.toContain('it went on');
  });

  test('with thousands of sockets is ended', async () => {
    const output = await run(OPEN);
    expect(output).toMatch(/Footlight ended this app: the app has \d+ open sockets/);
    expect(output).not.toContain('it went on');
  });

  test('with as many as a browser is not ended', async () => {
    expect(await run(HONEST)).toBe('it went on');
  });

  test('has only small socket options, which no control group counts', async () => {
    const [major = 0, minor = 0] = release().split('.').map(Number);
    if (major * 100 + minor >= 607) expect(await run(OPTIONS)).toBe('20480');
  });
});

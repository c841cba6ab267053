import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RUN_APPS } from '../../testing/apps-process.ts';
import type { AppRun } from '../../testing/run-apps.ts';
import { makeStateDir } from '../../testing/runtime-app.ts';

/**
 * 203.0.113.0/24, 198.51.100.0/24 and 2001:db8::/32 are reserved for examples, so real machines do not have these
 * addresses.
 */
const HOST = { eth: '203.0.113.2', eth6: '2001:db8:1::2', second: '198.51.100.1', second6: '2001:db8:2::1' };
const OUTSIDE = { eth: '203.0.113.1', eth6: '2001:db8:1::1' };
const METADATA = ['169.254.169.254', '169.254.1.2', '100.100.100.200', 'fd00:ec2::254', 'fd20:ce::254'];
const MULTICAST = ['224.0.0.251', '239.255.255.250', 'ff02::fb', 'ff05::2'];
const PORT = 4_711;
const NEIGHBOUR_PORT = 4_712;
/** Port of the service outside of the host that answers datagrams. */
const ECHO_PORT = 4_713;
const UID = 71_090;

/**
 * A server that listens on every address of its network and on an abstract name. It also resolves names on 127.0.0.53.
 */
const HOST_SERVICES = `
import json, socket, sys, threading
def serve(sock):
    while True:
        peer, _ = sock.accept()
        peer.sendall(b"here")
        peer.close()
def names():
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.53", 53))
    while True:
        data, who = sock.recvfrom(512)
        end = data.index(b"\\0", 12) + 5
        header = data[:2] + bytes([0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0])
        kind = data[end - 3]
        answer = bytes([0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 203, 0, 113, 1])
        if kind != 1: header, answer = data[:2] + bytes([0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0]), b""
        sock.sendto(header + data[12:end] + answer, who)
def datagrams(family, address):
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.bind((address, ${PORT}))
    while True:
        sock.sendto(b"here", sock.recvfrom(512)[1])
tcp = socket.create_server(("::", ${PORT}), family=socket.AF_INET6, dualstack_ipv6=True)
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\\0host-service")
abstract.listen()
loopback = [lambda: datagrams(socket.AF_INET, "127.0.0.1"), lambda: datagrams(socket.AF_INET6, "::1")]
for work in [lambda: serve(tcp), lambda: serve(abstract), *loopback, *([names] if "names" in sys.argv else [])]:
    threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
`;

/** Answers each datagram twice: from the port that received it, and from another port. */
const ECHO = `
import socket
def bound(port):
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.bind(("::", port))
    return sock
echo, stranger = bound(${ECHO_PORT}), bound(${ECHO_PORT + 1})
print("ready", flush=True)
while True:
    data, sender = echo.recvfrom(100)
    stranger.sendto(b"stranger to " + data, sender)
    echo.sendto(data, sender)
`;

/** Repeatedly sends words from one port, and waits for answers. Prints the different words that arrived. */
const TALK = `
import json, socket, sys, time
words, address, port, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
sock.bind(("", port))
sock.settimeout(1)
heard = set()
for number in range(rounds):
    sock.sendto(words.encode(), (address, ${ECHO_PORT}))
    try:
        while (data := sock.recv(100).decode()) != words: heard.add(data)
        heard.add(data)
    except TimeoutError: pass
    if number == 0: print("ready", flush=True)
    time.sleep(0.05)
print(json.dumps(sorted(heard)), flush=True)
`;

/** Runs the given attempts and prints one line with the results. "here" means that the address answered. */
const PROBE = `
import json, os, socket, sys
def attempt(kind, target):
    if kind == "name": return socket.getaddrinfo(target, 80, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
    if kind == "interfaces": return ",".join(sorted(name for _, name in socket.if_nameindex()))
    if kind == "abstract-bind":
        socket.socket(socket.AF_UNIX).bind("\\0" + target)
        return "bound"
    family = socket.AF_UNIX if kind == "abstract" else socket.AF_INET6 if ":" in target[0] else socket.AF_INET
    # By another way than the routing table says, which takes no right.
    way = kind.partition("-")[2]
    index = socket.if_nametoindex("eth0") if way else 0
    sock = socket.socket(family, socket.SOCK_DGRAM if kind.startswith("udp") else socket.SOCK_STREAM)
    sock.settimeout(3)
    if way == "device": sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
    if way == "group": sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, bytes(8) + index.to_bytes(4, "little"))
    if kind.startswith("udp"):
        info = (socket.IPPROTO_IP, 8, index.to_bytes(4, "little") + bytes(8))
        if ":" in target[0]: info = (socket.IPPROTO_IPV6, 50, bytes(16) + index.to_bytes(4, "little"))
        sock.sendmsg([b"hello"], [info] if way == "message" else [], 0, tuple(target))
        return "sent"
    sock.connect("\\0" + target if kind == "abstract" else tuple(target))
    return sock.recv(10).decode() or "closed"
for kind, target in json.loads(sys.argv[1]):
    try: result = attempt(kind, target)
    except OSError as error: result = type(error).__name__ + " " + str(error)
    print(json.dumps([kind, target, result]), flush=True)
`;

/** Limit of connections of one app to one address. */
const MAX_CONNECTIONS = 64;
/** Opens many connections to each address, keeps them open, and prints how many were accepted. */
const HOLD_MANY = `
import json, socket, sys
held, counts = [], []
for address in json.loads(sys.argv[1]):
    before = len(held)
    for _ in range(int(sys.argv[2])):
        # One of the allowed ones that is given up on a busy machine would be counted and not held.
        seconds = 60 if len(held) - before < ${MAX_CONNECTIONS} else 3
        try:
            sock = socket.create_connection((address, ${PORT}), seconds)
            if sock.recv(10): held.append(sock)
        except OSError: pass
    counts.append(len(held) - before)
print(json.dumps(counts), flush=True)
`;

type Attempt = readonly [kind: string, target: string | readonly [string, number]];
const tcp = (address: string, port: number): Attempt => ['tcp', [address, port]];
/** Ways to bypass the routing table by choosing the interface: of a socket, of its multicast, or of one message. */
const UDP_WAYS = ['udp', 'udp-device', 'udp-group', 'udp-message'];

const children: ChildProcess[] = [];
let stateDir: string;
let host: number;

/** Starts a program and waits for its first line of output. */
async function up(argv: readonly string[]): Promise<number> {
  const child = spawn(argv[0] ?? '', argv.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  await once(child.stdout, 'data');
  return child.pid ?? 0;
}

const inNetwork = (pid: number) => ['nsenter', `--net=/proc/${pid}/ns/net`, '--'];

function ip(pid: number, lines: string): void {
  const [program = '', ...words] = [...inNetwork(pid), 'ip', '-batch', '-'];
  execFileSync(program, words, { input: lines });
}

/** Runs apps on the test's host. @returns the output of the last app. Fails if a part of their networks is left. */
async function runApps(run: AppRun, env: Record<string, string> = {}): Promise<string> {
  const resolvConf = join(stateDir, 'resolv.conf');
  writeFileSync(resolvConf, 'nameserver 127.0.0.53\nsearch example\n', { mode: 0o644 });
  const [file = '', ...args] = [
    ...[...inNetwork(host), 'unshare', '--mount', 'sh', '-c'],
    `mount --bind "$1" /etc/resolv.conf; shift; exec "$@"`,
    ...['sh', resolvConf, process.execPath, RUN_APPS, stateDir, JSON.stringify(run)],
  ];
  const { stdout } = await execa(file, args, { env });
  return stdout;
}

/** Runs attempts in an app on the test's host. @returns their results */
async function found(
  attempts: readonly Attempt[],
  options: Partial<AppRun> & { network?: 'none' | 'bridge'; env?: Record<string, string> } = {},
): Promise<Map<string, string>> {
  const { network, apps = [], env, ...run } = options;
  const args = ['python3', '-c', PROBE, JSON.stringify(attempts)];
  const last = { args, uid: UID, spec: network ? { network } : {} };
  const text = await runApps({ ...run, apps: [...apps, last] }, env);
  const rows = text.split('\n').flatMap((line) => (line.startsWith('[') ? [JSON.parse(line)] : []));
  if (rows.length !== attempts.length) throw new Error(text);
  return new Map(rows.map(([kind, target, result]) => [`${kind} ${[target].flat().join(' ')}`, result]));
}

describe.runIf(process.getuid?.() === 0)('the network of an app of a root agent', () => {
  beforeAll(async () => {
    stateDir = makeStateDir();
    const hold = ['unshare', '--net', 'sh', '-c', 'echo up; exec sleep infinity'];
    host = await up(hold);
    const outside = await up(hold);
    ip(
      host,
      `link set lo up
       link add eth0 type veth peer name eth0 netns ${outside}
       link add second type veth peer name unused
       address add ${HOST.eth}/24 dev eth0
       address add ${HOST.eth6}/64 dev eth0 nodad
       address add ${HOST.second}/24 dev second
       address add ${HOST.second6}/64 dev second nodad
       ${METADATA.map((address) => `address add ${address}/${address.includes(':') ? 128 : 32} dev second`).join('\n')}
       link set eth0 up
       link set second up
       link set unused up
       route add default via ${OUTSIDE.eth}
       route add default via ${OUTSIDE.eth6}`,
    );
    ip(
      outside,
      `link set lo up
       address add ${OUTSIDE.eth}/24 dev eth0
       address add ${OUTSIDE.eth6}/64 dev eth0 nodad
       link set eth0 up`,
    );
    await up([...inNetwork(host), 'python3', '-c', HOST_SERVICES, 'names']);
    await up([...inNetwork(outside), 'python3', '-c', HOST_SERVICES]);
    await up([...inNetwork(outside), 'python3', '-c', ECHO]);
  });

  afterAll(() => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(stateDir, { recursive: true, force: true });
  });

  test.each([
    ['made for it', false],
    ['made ahead', true],
  ])(
    'without a setting, %s: the network and its names, and nothing of the host',
    {
      timeout: 60_000,
    },
    async (_, keep) => {
      const closed = ['127.0.0.1', '127.0.0.53', '::1', '0.0.0.0', ...Object.values(HOST), ...METADATA];
      const results = await found(
        [
          tcp(OUTSIDE.eth, PORT),
          tcp(OUTSIDE.eth6, PORT),
          ['name', 'anything.example'],
          ...closed.map((address) => tcp(address, PORT)),
          ['abstract', 'host-service'],
          // In the app's network this abstract name is free. A program that binds it there cannot be reached from
          // outside.
          ['abstract-bind', 'host-service'],
          ...MULTICAST.map((address): Attempt => ['udp', [address, 5_353]]),
        ],
        { keep },
      );
      expect(results.get(`tcp ${OUTSIDE.eth} ${PORT}`)).toBe('here');
      expect(results.get(`tcp ${OUTSIDE.eth6} ${PORT}`)).toBe('here');
      expect(results.get('name anything.example')).toBe(OUTSIDE.eth);
      expect([...results].filter(([, result]) => result === 'here')).toHaveLength(2);
      expect(results.get('abstract-bind host-service')).toBe('bound');
      expect([...results].filter(([, result]) => result === 'sent')).toEqual([]);
      for (const address of METADATA) {
        expect(results.get(`tcp ${address} ${PORT}`)).toMatch(
          /Operation not permitted|Permission denied|Network is unreachable|No route/,
        );
      }
    },
  );

  test('an app that chooses the interface itself reaches nothing more', { timeout: 120_000 }, async () => {
    const closed = ['127.0.0.1', '127.1.2.3', '::1', HOST.second, HOST.second6, ...METADATA, ...MULTICAST];
    const results = await found([
      ['tcp-device', [OUTSIDE.eth, PORT]],
      ['tcp-device', [OUTSIDE.eth6, PORT]],
      ...UDP_WAYS.map((way): Attempt => [way, [OUTSIDE.eth, PORT]]),
      ...closed.map((address): Attempt => ['tcp-device', [address, PORT]]),
      ...closed.flatMap((address) => UDP_WAYS.map((way): Attempt => [way, [address, PORT]])),
    ]);
    const through = [...results].filter(([, result]) => result === 'here' || result === 'sent');
    // The app's own loopback must work.
    const own = [
      'udp 127.0.0.1',
      'udp 127.1.2.3',
      'udp ::1',
      'udp-group 127.0.0.1',
      'udp-group 127.1.2.3',
      'udp-group ::1',
    ];
    expect(through.map(([what]) => what).sort()).toEqual(
      [
        `tcp-device ${OUTSIDE.eth} ${PORT}`,
        `tcp-device ${OUTSIDE.eth6} ${PORT}`,
        ...UDP_WAYS.map((way) => `${way} ${OUTSIDE.eth} ${PORT}`),
        ...own.map((what) => `${what} ${PORT}`),
      ].sort(),
    );
  });

  test.each([
    ['made for it', false],
    ['next to a prefetched one', true],
  ])('none, %s: its own loopback and nothing else', { timeout: 60_000 }, async (_, keep) => {
    const results = await found(
      [tcp(OUTSIDE.eth, PORT), tcp('127.0.0.1', PORT), ['abstract', 'host-service'], ['interfaces', '']],
      { network: 'none', keep },
    );
    expect([...results.values()].filter((result) => result === 'here')).toEqual([]);
    expect(results.get('interfaces ')).toBe('lo');
  });

  test('an app reaches no other app, by address or by abstract name', { timeout: 60_000 }, async () => {
    const listener = HOST_SERVICES.replaceAll(String(PORT), String(NEIGHBOUR_PORT)).replace('host-', 'app-');
    const addresses = ['127.0.0.1', '::1', ...Object.values(HOST), OUTSIDE.eth];
    const results = await found(
      [...addresses.map((address) => tcp(address, NEIGHBOUR_PORT)), ['abstract', 'app-service']],
      { apps: [{ args: ['python3', '-c', listener], uid: UID + 1 }] },
    );
    expect([...results.values()].filter((result) => result === 'here')).toEqual([]);
  });

  describe.each([
    ['IPv4', OUTSIDE.eth],
    ['IPv6', OUTSIDE.eth6],
  ])('datagrams over %s', (_family, address) => {
    const SAME_PORT = 40_000;
    const talk = (words: string, uid: number, rounds: number) => ({
      args: ['python3', '-c', TALK, words, address, String(SAME_PORT), String(rounds)],
      uid,
    });
    const heardBy = async (run: AppRun) => JSON.parse((await runApps(run)).trim().split('\n').at(-1) ?? '');

    test('an app gets the answers to its own datagrams, and none of another app with the same port', {
      timeout: 60_000,
    }, async () => {
      const neighbour = talk('to the neighbour', UID + 1, 1_000_000);
      expect(await heardBy({ apps: [neighbour, talk('mine', UID, 20)] })).toEqual(['mine']);
    });
  });

  test('an app can have at most 64 connections to one address', {
    timeout: 120_000,
  }, async () => {
    const args = ['python3', '-c', HOLD_MANY, JSON.stringify([OUTSIDE.eth, OUTSIDE.eth6]), '100'];
    const text = await runApps({ apps: [{ args, uid: UID }] });
    expect(JSON.parse(text.trim().split('\n').at(-1) ?? '')).toEqual([MAX_CONNECTIONS, MAX_CONNECTIONS]);
  });

  test('a prefetched network also blocks an address that the host has got since', {
    timeout: 60_000,
  }, async () => {
    const late = '198.51.100.9';
    const results = await found([tcp(late, PORT), tcp(OUTSIDE.eth, PORT)], {
      keep: true,
      beforeLast: ['ip', 'address', 'add', `${late}/24`, 'dev', 'second'],
    });
    ip(host, `address delete ${late}/24 dev second`);
    expect(results.get(`tcp ${late} ${PORT}`)).not.toBe('here');
    expect(results.get(`tcp ${OUTSIDE.eth} ${PORT}`)).toBe('here');
  });
});

import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, delay, errorText } from '@footlight/platform';
import { withPatience } from '../../patience.ts';
import { enterCgroup } from '../cgroups.ts';
import { hostProgram, PATH } from '../confinement/command-line.ts';
import { sharedPortsFilter } from '../confinement/seccomp.ts';
import { HeldNamespace } from '../held-namespace.ts';
import { childrenOf, familyOf, SESSION_VARIABLE } from '../proc-table.ts';
import {
  type Child,
  type ChildExit,
  killUntilGone,
  notEnded,
  sendSignal,
  startChild,
} from '../programs/child.ts';
import { openRoom, type Room, type Sandboxed, startSandboxed } from '../sandbox.ts';
import { readSocketUse, type SocketUse } from './app-sockets.ts';
import {
  appResolvConf,
  connectionLimits,
  networkSetup,
  RESOLVER4,
  RESOLVER6,
  udpTranslation,
} from './network-rules.ts';
import { type PortRange, UdpPorts } from './udp-ports.ts';

/**
 * Time limit for creating a network: ten times the slowest of 30 starts (483 ms) on a machine with two cores and a load
 * of ten.
 */
const OPEN_LIMIT_MS = withPatience(5_000);
/** Interval of the checks whether the file of `pasta` (the program that connects an app's network) exists. */
const READY_PERIOD_MS = 5;
/** A network namespace of one app. */
export interface AppNetwork {
  /** Command prefix that enters the network. */
  readonly enter: readonly string[];
  /** Content of /etc/resolv.conf for the app; null: the host's content. */
  readonly resolvConf: string | null;
  /** The reason why the network has no connection although the app may use the network; null: no problem. */
  readonly problem: string | null;
  /** Whether the network still exists, and the host still has the same addresses and resolvers. */
  readonly isCurrent: boolean;
  /** Settles when no process carries the network's traffic: after close(), or when `pasta` has ended. */
  readonly exited: Promise<ChildExit>;
  /**
   * Moves the process that carries the network's traffic into these control groups (paths of cgroup.procs). Errors are
   * ignored.
   */
  countIn(procsFiles: readonly string[]): void;
  /** Memory use of the network's sockets; null: the network does not exist any more. */
  socketUse(): Promise<SocketUse | null>;
  /**
   * Ends the processes that keep and serve the network, and resolves when they have ended. An app inside keeps the
   * namespace, but has no connection. Repeatable.
   */
  close(): Promise<void>;
}

/** Whether `pasta` is installed. Without `pasta`, apps that may use the network use the host's network. */
export function isPastaInstalled(): boolean {
  return existsSync(hostProgram('pasta'));
}

/**
 * Creates the network of an app without network access: it has only a loopback interface.
 * @throws when no namespace can be created
 */
export function openClosedNetwork(clock: Clock): Promise<AppNetwork> {
  return holdNetwork(clock, null, null);
}

/**
 * Creates the network of an app that may use the network: its own loopback and the networks of the host, but no access
 * to the host itself. If `pasta` fails, the app gets a closed network instead of the host's.
 * @param udpPorts UDP ports for all networks of this process
 * @returns null if `pasta` is not installed: the app then uses the host's network
 * @throws when no namespace can be created
 */
export async function openOutwardNetwork(clock: Clock, udpPorts: UdpPorts): Promise<AppNetwork | null> {
  if (!isPastaInstalled()) return null;
  let release: () => void = () => undefined;
  try {
    const block = await udpPorts.take();
    release = block.release;
    return await holdNetwork(clock, block.range, null, release);
  } catch (error) {
    release();
    return holdNetwork(clock, null, errorText(error));
  }
}

/** Tests whether apps can have a network namespace on this host. @returns the problem; null: no problem */
export function networkNamespaceProblem(clock: Clock): Promise<string | null> {
  return problemOf(() => openClosedNetwork(clock));
}

/** Tests whether `pasta` can serve an app on this host. @returns the problem; null: no problem */
export function pastaProblem(clock: Clock): Promise<string | null> {
  // The test may use the same ports as an app, because the test sends nothing.
  return problemOf(() => openOutwardNetwork(clock, new UdpPorts(null)));
}

async function problemOf(open: () => Promise<AppNetwork | null>): Promise<string | null> {
  try {
    const network = await open();
    await network?.close();
    return network?.problem ?? null;
  } catch (error) {
    return errorText(error);
  }
}

/** Command line of `pasta`. Source: pasta(1) of Debian 12 (passt 0.0~git20230309). */
function pastaLine(): string[] {
  return [
    ...[hostProgram('pasta'), '--quiet', '--foreground', '--netns-only', '--config-net'],
    // Without this option, the gateway's address would lead to the host's loopback.
    '--no-map-gw',
    // No port is forwarded to the app. By default `pasta` would also forward ports from its loopback to the host's.
    ...['-t', 'none', '-u', 'none', '-T', 'none', '-U', 'none'],
    ...['--dns-forward', RESOLVER4, '--dns-forward', RESOLVER6],
    // By default `pasta` changes to the user `nobody`, which is not permitted to enter the namespace. As root, `pasta`
    // keeps only SYS_ADMIN and NET_BIND_SERVICE, and confines itself to few system calls and no files.
    ...['--runas', '0'],
  ];
}

/**
 * Path in the room (a set of namespaces, see openRoom) at which the room's network namespace is mounted, because
 * `pasta` has no right to read the namespace from /proc.
 */
const NETWORK_PATH = '/tmp/network';
/** `pasta` writes its process id to this file when the network is ready. */
const READY_PATH = '/tmp/pasta';
/**
 * Largest memory of a socket's options, such as multicast filters, which no control group counts. It is the kernel's
 * default up to Linux 6.6; newer kernels use 128 KiB. Before 6.7, a namespace has no separate value.
 */
const OPTION_BYTES = 20_480;

/**
 * @param udpPorts source ports of the network's datagrams; null: a closed network
 * @param onClosed called when the network is closed
 */
async function holdNetwork(
  clock: Clock,
  udpPorts: PortRange | null,
  problem: string | null,
  onClosed: () => void = () => undefined,
): Promise<AppNetwork> {
  // Read before `pasta` starts, because `pasta` reads addresses and resolvers too; so a change in between is detected.
  const host = readHost();
  // There is no session id, because the network may be created before the session. Cleanup finds leftovers by this
  // value.
  const env = { PATH: `${PATH}:/usr/sbin:/sbin`, [SESSION_VARIABLE]: 'network' };
  const room = await openRoom([], ROOM_OPTIONS, env, clock);
  let namespace: HeldNamespace;
  try {
    namespace = new HeldNamespace('net', room.first);
  } catch (error) {
    await endNamespace(room.child, clock);
    throw error;
  }
  const run = inNetwork(namespace.enter, env, clock);
  let pasta: Sandboxed | null = null;
  let closing: Promise<void> | null = null;
  const close = () => {
    closing ??= endNamespace(room.child, clock)
      .then(() => pasta?.child.exited)
      .finally(() => {
        namespace.close();
        onClosed();
      })
      .then(() => undefined);
    return closing;
  };
  try {
    const { setup4, setup6 } = networkSetup(host.addresses);
    await run(['ip', '-batch', '-'], setup4);
    // This file is missing if the kernel was started without IPv6.
    if (existsSync('/proc/net/if_inet6')) await run(['ip', '-6', '-batch', '-'], setup6);
    await run(['tee', '/proc/sys/net/core/optmem_max'], String(OPTION_BYTES)).catch(() => undefined);
    if (udpPorts !== null) {
      await run(['nft', '-f', '-'], udpTranslation(udpPorts));
      // If the kernel cannot count connections, the network has no such limit.
      await run(['nft', '-f', '-'], connectionLimits()).catch(() => undefined);
      pasta = await startPasta(room, env, clock);
    }
  } catch (error) {
    await close();
    throw error;
  }
  const running = [room.child, ...(pasta === null ? [] : [pasta.child])];
  return {
    enter: namespace.enter,
    resolvConf: udpPorts === null ? null : appResolvConf(host.resolvConf),
    problem,
    get isCurrent() {
      return running.every(({ pid }) => isRunning(pid)) && isDeepStrictEqual(readHost(), host);
    },
    exited: Promise.race(running.map(({ exited }) => exited)),
    countIn: (procsFiles) => {
      for (const { pid, alive } of running)
        for (const one of alive ? familyOf(pid) : []) enterCgroup(procsFiles, one);
    },
    socketUse: () => (room.child.alive ? readSocketUse(room.first) : Promise.resolve(null)),
    close,
  };
}

/**
 * Options of bwrap for a room with its own network namespace, and with a file on which the namespace can be mounted.
 */
const ROOM_OPTIONS = [
  ...['--dev-bind', '/', '/', '--tmpfs', '/tmp', '--dev-bind', '/dev/null', NETWORK_PATH, '--unshare-net'],
];

/**
 * @returns a function that runs a program in a network, writes a text to its input, and rejects with the program's
 * error
 */
function inNetwork(enter: readonly string[], env: Record<string, string>, clock: Clock) {
  return async (argv: readonly string[], input: string): Promise<void> => {
    let output = '';
    const child = await startChild([...enter, ...argv], {
      env,
      cwd: '/',
      lifeline: true,
      clock,
      onOutput: (chunk) => {
        output = `${output}${chunk.toString('utf8')}`.slice(-2_000);
      },
    });
    child.stdin?.end(`${input}\n`);
    const [{ code }] = await Promise.all([child.exited, child.drained]);
    if (code !== 0) throw new Error(output.trim() || `${argv[0]} ended with status ${code}`);
  };
}

/** Starts `pasta` for the room's network, and waits until the network is ready. @throws when `pasta` does not start */
async function startPasta(room: Room, env: Record<string, string>, clock: Clock): Promise<Sandboxed> {
  const enter = ['nsenter', '--target', String(room.first), '--mount', '--'];
  await inNetwork(
    enter,
    env,
    clock,
  )(['mount', '--no-canonicalize', '--bind', `/proc/${room.first}/ns/net`, NETWORK_PATH], '');
  let output = '';
  const pasta = await startSandboxed(
    {
      prefix: ['nsenter', '--target', String(room.first), '--mount', '--pid', '--'],
      options: ['--dev-bind', '/', '/'],
      command: [...pastaLine(), '--netns', NETWORK_PATH, '--pid', READY_PATH],
      filter: sharedPortsFilter(),
    },
    {
      env,
      cwd: '/',
      clock,
      onOutput: (chunk) => {
        output = `${output}${chunk.toString('utf8')}`.slice(-2_000);
      },
    },
    clock,
  );
  const deadlineMs = clock.monotonicMs() + OPEN_LIMIT_MS;
  while (!existsSync(`/proc/${room.first}/root${READY_PATH}`)) {
    if (!pasta.child.alive || clock.monotonicMs() > deadlineMs) {
      const words = output.split('\n').filter((line) => line.trim() !== '' && !line.includes('to syslog'));
      throw new Error(words.join('; ') || `pasta is not ready after ${OPEN_LIMIT_MS} ms`);
    }
    await delay(clock, READY_PERIOD_MS);
  }
  return pasta;
}

/**
 * Ends the process namespace of an app or of its network. `child` is bwrap, and the only child of bwrap is process 1.
 * @throws when the namespace does not end
 */
export async function endNamespace(child: Child, clock: Clock): Promise<void> {
  let first: number[] = [];
  const kill = () => {
    if (!child.alive) return true;
    // It is enough to wait for process 1: it is reaped only when its whole namespace is empty, and bwrap waits for
    // process 1.
    first = childrenOf(child.pid);
    for (const pid of first) sendSignal(pid, 'SIGKILL');
    if (first.length === 0) child.signal('SIGKILL');
    return false;
  };
  if (!(await killUntilGone(clock, kill, child.exited))) throw notEnded([child.pid, ...first]);
}

/** A zombie counts as ended, because it has no namespace. */
function isRunning(pid: number): boolean {
  try {
    readlinkSync(`/proc/${pid}/ns/net`);
    return true;
  } catch {
    return false;
  }
}

interface HostNetwork {
  addresses: string[];
  /** Text of /etc/resolv.conf. */
  resolvConf: string;
}

function readHost(): HostNetwork {
  return { addresses: ownAddresses(), resolvConf: hostResolvConf() };
}

/** Addresses at which services of this host listen, in addition to its loopback. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal }) => !internal)
    .map(({ address }) => address.split('%')[0] ?? '')
    .filter((address) => address !== '' && !address.startsWith('fe80:'));
}

function hostResolvConf(): string {
  try {
    return readFileSync('/etc/resolv.conf', 'utf8');
  } catch {
    return '';
  }
}

import { existsSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, delay, errorText, within } from '@footlight/platform';
import { type Child, type ChildExit, sendSignal, startChild } from '../child.ts';
import { HeldNamespace } from '../held-namespace.ts';
import { hostProgram, PATH } from '../launch-line.ts';
import { listProcesses, SESSION_VARIABLE } from '../proc-table.ts';

/** Ten times the slowest of 30 starts on a machine with a load of ten (docs/isolation.md, "Networks"). */
const OPEN_LIMIT_MS = 5_000;
/** Rounds of SIGKILL before giving up: a process that survives them is blocked in the kernel. */
const KILL_ATTEMPTS = 100;
const KILL_PERIOD_MS = 10;
/** Bound of the host's own addresses. */
const MAX_OWN_ADDRESSES = 256;

/**
 * Address of the resolver in an app's resolv.conf: pasta forwards its port 53 to the host's resolver, which may be on
 * the host's loopback. Source: RFC 7600 (192.0.0.8, the IPv4 dummy address), RFC 6666 (100::/64, discard only): no
 * machine has one of them.
 */
const RESOLVER4 = '192.0.0.8';
const RESOLVER6 = '100::8';

/**
 * Destinations that an app's packets must not reach. An app may choose the interface of a socket or packet without
 * any right (SO_BINDTODEVICE, IP_PKTINFO, IP_UNICAST_IF), and pasta opens the same destination on the host.
 */
const CLOSED4 = [
  // The host's loopback, and "this host".
  ...['127.0.0.0/8', '0.0.0.0/8'],
  // Metadata services of clouds and other link-local addresses. Multicast and broadcast would reach services of the
  // host.
  ...['169.254.0.0/16', '224.0.0.0/4', '255.255.255.255/32'],
  // Alibaba Cloud, Azure (its DNS is reached through the host's resolver), Oracle Cloud.
  ...['100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32'],
];
const CLOSED6 = [
  ...['::1/128', '::ffff:0:0/96', 'fe80::/10'],
  // AWS (fd00:ec2::254 and its neighbours), Google Cloud.
  ...['fd00:ec2::/32', 'fd20:ce::254/128'],
  // 169.254.0.0/16 behind a translator (RFC 6052).
  '64:ff9b::a9fe:0/112',
];

/** A network namespace of one app. */
export interface AppNetwork {
  /** Command prefix that enters it. */
  readonly enter: readonly string[];
  /** Content of its /etc/resolv.conf; null: the host's. */
  readonly resolvConf: string | null;
  /** Why it has no connection although the app may use the network; null: no problem. */
  readonly problem: string | null;
  /** Whether it still exists, and the host still has the same addresses and resolvers. */
  readonly isCurrent: boolean;
  /** Settles when no process carries its traffic: after close(), or when pasta ended. */
  readonly exited: Promise<ChildExit>;
  /** Moves the process that carries its traffic into these control groups (paths of cgroup.procs); best effort. */
  countIn(procsFiles: readonly string[]): void;
  /** Ends what holds and serves it; comes back when that is gone. An app in there keeps the bare namespace. Repeatable. */
  close(): Promise<void>;
}

/** Whether pasta is installed, without which apps that may use the network keep the host's. */
export function isPastaInstalled(): boolean {
  return existsSync(hostProgram('pasta'));
}

/** Makes the network of an app that may use none: its own loopback. @throws when no namespace can be made */
export function openClosedNetwork(clock: Clock): Promise<AppNetwork> {
  return holdNetwork(clock, [], null);
}

/**
 * Makes the network of an app that may use the network: its own loopback and the networks of the host, without the
 * host itself. Where pasta does not come up the app gets a closed network rather than the host's.
 * @returns null where the app keeps the host's network: pasta is not installed
 * @throws when not even a namespace can be made
 */
export async function openOutwardNetwork(clock: Clock): Promise<AppNetwork | null> {
  if (!isPastaInstalled()) return null;
  try {
    return await holdNetwork(clock, pastaLine(), null);
  } catch (error) {
    return holdNetwork(clock, [], errorText(error));
  }
}

/** Why apps cannot have a network namespace on this host; null: they can. Leaves nothing behind. */
export function networkNamespaceProblem(clock: Clock): Promise<string | null> {
  return problemOf(clock, []);
}

/** Why pasta cannot serve an app on this host; null: it can. Leaves nothing behind. */
export function pastaProblem(clock: Clock): Promise<string | null> {
  return problemOf(clock, pastaLine());
}

async function problemOf(clock: Clock, pasta: readonly string[]): Promise<string | null> {
  try {
    const network = await holdNetwork(clock, pasta, null);
    await network.close();
    return null;
  } catch (error) {
    return errorText(error);
  }
}

/**
 * `ip -batch` commands that open an app's loopback, and close what it must not reach through its network. Pure.
 *
 * IPv4 takes policies of XFRM: where a rule or route of the routing table refuses, a socket that has chosen its
 * interface is sent on the link all the same (ip_route_output_key_hash_rcu). XFRM leaves the loopback interface out.
 * For IPv6 it does not, and rules hold whatever the socket chose; but multicast has a route before every rule. Neighbour
 * discovery needs multicast by ICMP; UDP is all that pasta would pass on.
 */
export function networkSetup(ownAddresses: readonly string[]): { setup4: string; setup6: string } {
  const own = ownAddresses.slice(0, MAX_OWN_ADDRESSES);
  const own4 = own.filter((address) => !address.includes(':')).map((address) => `${address}/32`);
  const own6 = own.filter((address) => address.includes(':')).map((address) => `${address}/128`);
  // A second rule or policy of the same words is refused.
  const closed4 = [...new Set([...CLOSED4, ...own4])];
  const closed6 = [...new Set([...CLOSED6, ...own6])];
  const block4 = closed4.map((address) => `xfrm policy add dst ${address} dir out action block`);
  // After the app's own loopback, whose table has the priority 0, and before every other route.
  const prohibit6 = closed6.map((address) => `rule add pref 1 to ${address} prohibit`);
  return {
    setup4: ['link set lo up', ...block4].join('\n'),
    setup6: ['xfrm policy add dst ff00::/8 proto udp dir out action block', ...prohibit6].join('\n'),
  };
}

/** The host's resolv.conf with pasta in the place of its resolvers. Pure. */
export function appResolvConf(host: string): string {
  const lines = host.split('\n').map((line) => line.trim());
  const kept = lines.filter((line) => /^(search|domain|options|sortlist)\s/.test(line));
  const servers = lines.flatMap((line) => /^nameserver\s+(\S+)/.exec(line)?.[1] ?? []);
  const has4 = servers.some((server) => !server.includes(':'));
  const has6 = servers.some((server) => server.includes(':'));
  const own = [...(has4 || !has6 ? [RESOLVER4] : []), ...(has6 ? [RESOLVER6] : [])];
  return [...own.map((server) => `nameserver ${server}`), ...kept, ''].join('\n');
}

/** Source: pasta(1) of Debian 12 (passt 0.0~git20230309). */
function pastaLine(): string[] {
  return [
    ...[hostProgram('pasta'), '--quiet', '--foreground', '--netns-only', '--config-net'],
    // The gateway's address would lead to the host's loopback.
    '--no-map-gw',
    // No port is forwarded, neither to the app nor, which is the default, from its loopback to the host's.
    ...['-t', 'none', '-u', 'none', '-T', 'none', '-U', 'none'],
    ...['--dns-forward', RESOLVER4, '--dns-forward', RESOLVER6],
    // Its default is the user nobody, who may not enter the namespace. It keeps SYS_ADMIN and NET_BIND_SERVICE alone
    // and confines itself: no files, few system calls.
    ...['--runas', '0'],
  ];
}

async function holdNetwork(
  clock: Clock,
  pasta: readonly string[],
  problem: string | null,
): Promise<AppNetwork> {
  // Before pasta starts, which reads both as well: what changes meanwhile counts as changed.
  const host = readHost();
  const { setup4, setup6 } = networkSetup(host.addresses);
  let said = '';
  let settleReady: () => void = () => undefined;
  const ready = new Promise<'ready'>((resolve) => {
    settleReady = () => resolve('ready');
  });
  const child = await startChild(
    [
      ...['setpriv', '--pdeathsig', 'KILL', '--'],
      ...['unshare', '--net', '--mount', '--pid', '--fork', '--kill-child', '--'],
      ...['/bin/sh', fileURLToPath(new URL('hold-network.sh', import.meta.url))],
      ...[`/proc/${process.pid}/ns/net`, setup4, setup6, ...pasta],
    ],
    {
      // It may be made before there is a session; the mark alone tells what is left of it.
      env: { PATH, [SESSION_VARIABLE]: 'network' },
      cwd: '/',
      onOutput: (chunk) => {
        said = `${said}${chunk.toString('utf8')}`.slice(-2_000);
      },
      onReport: () => settleReady(),
    },
  );
  const ended = child.exited.then(() => 'ended' as const);
  const outcome = await within(clock, OPEN_LIMIT_MS, Promise.race([ready, ended]), 'late' as const);
  if (outcome !== 'ready') {
    await endNamespace(child, clock);
    await child.drained;
    const why = outcome === 'late' ? `not ready within ${OPEN_LIMIT_MS} ms` : 'it ended before it was ready';
    const words = said.split('\n').filter((line) => line.trim() !== '' && !line.includes('to syslog'));
    throw new Error(words.length === 0 ? `the network of the app: ${why}` : words.join('; '));
  }
  const namespace = new HeldNamespace('net', child.pid);
  let closing: Promise<void> | null = null;
  return {
    enter: namespace.enter,
    resolvConf: pasta.length === 0 ? null : appResolvConf(host.resolvConf),
    problem,
    get isCurrent() {
      return isRunning(child.pid) && isDeepStrictEqual(readHost(), host);
    },
    exited: child.exited,
    countIn: (procsFiles) => {
      const family = child.alive ? familyOf(child.pid) : [];
      for (const pid of family) for (const file of procsFiles) enterGroup(file, pid);
    },
    close() {
      closing ??= endNamespace(child, clock).finally(() => namespace.close());
      return closing;
    },
  };
}

/**
 * Ends the process namespace of an app, or of its network: `child` is `unshare --fork`, and its one child is process 1.
 * @throws when it does not end
 */
export async function endNamespace(child: Child, clock: Clock): Promise<void> {
  for (let attempt = 0; child.alive; attempt++) {
    if (attempt === KILL_ATTEMPTS) throw new Error('the app does not end');
    // Process 1 alone: it is reaped only when its whole namespace is empty, and unshare waits for it.
    const first = listProcesses().filter((row) => row.ppid === child.pid);
    for (const row of first) sendSignal(row.pid, 'SIGKILL');
    if (first.length === 0) child.signal('SIGKILL');
    await Promise.race([child.exited, delay(clock, KILL_PERIOD_MS)]);
  }
}

/** A process and all that descend from it. */
function familyOf(pid: number): number[] {
  const rows = listProcesses();
  const family = [pid];
  // Grows while it is walked.
  for (const parent of family)
    family.push(...rows.filter(({ ppid }) => ppid === parent).map((row) => row.pid));
  return family;
}

function enterGroup(file: string, pid: number): void {
  try {
    writeFileSync(file, String(pid));
  } catch {
    // It ended meanwhile.
  }
}

/** A process that has ended has no namespace, also before its parent has read its exit status. */
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

/** Addresses at which services of this host listen, besides its loopback. */
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

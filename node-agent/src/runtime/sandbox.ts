/** Sandboxes of bubblewrap, bwrap(1). Source of its options: bubblewrap 0.8 of Debian 12. */
import { dirname } from 'node:path';
import { type Clock, delay, within } from '@footlight/platform';
import { withPatience } from '../patience.ts';
import { enterCgroup } from './cgroups.ts';
import { asSessionUser, FILTERS } from './confinement/command-line.ts';
import { childrenOf } from './proc-table.ts';
import { type Child, type ChildOptions, sendSignal, startChild } from './programs/child.ts';
import type { SessionUser } from './runtime.ts';

/** Time limit of a start: fifty times the slowest of 30 starts (95 ms) on two cores with a load of ten. */
const START_LIMIT_MS = withPatience(5_000);
/** Longest wait for the error output of a bwrap that has ended. */
const LAST_OUTPUT_MS = 200;
/** Interval of the checks whether a helper runs below bwrap. */
const START_PERIOD_MS = 2;
/** Numbers of bwrap's descriptors; descriptor 3 belongs to the command. */
const [INFO, BLOCK, FILTER, SYNC] = [4, 5, 6, 7];

export interface SandboxLine {
  /** Programs that precede bwrap on the command line: programs that exec bwrap, and `nsenter --pid`. */
  prefix: readonly string[];
  /** Options of bwrap. */
  options: readonly string[];
  command: readonly string[];
  /** The command's seccomp filter. */
  filter: Buffer;
  /** Control groups in which the command starts (paths of cgroup.procs). */
  procsFiles?: readonly string[];
}

export interface Sandboxed {
  /**
   * bwrap, or the `nsenter` that precedes it. It ends when the command's first process ends, with the same status, or
   * with 128 + n after signal n.
   */
  child: Child;
  /** The process below bwrap: the command, or in a sandbox with a process namespace its process 1. */
  pid: number;
  /** Resolves when no process of the sandbox is left. Only for a sandbox with a process namespace. */
  empty: Promise<void>;
}

/**
 * Starts a command in a sandbox. The command runs its first instruction in its control groups, because bwrap waits
 * until the existing processes were moved there.
 * @param ready the command starts when this promise resolves
 * @throws when bwrap does not start, or `ready` rejects; if bwrap fails later, the child ends with status 1
 */
export async function startSandboxed(
  { prefix, options, command, filter, procsFiles = [] }: SandboxLine,
  child: ChildOptions,
  clock: Clock,
  ready: Promise<unknown> = Promise.resolve(),
): Promise<Sandboxed> {
  // It may reject before it is awaited, which would be an unhandled rejection.
  ready.catch(() => undefined);
  const hasPidNamespace = options.includes('--unshare-pid');
  let output = '';
  let pid: number | null = null;
  const { onOutput } = child;
  // If no one reads the output, it is discarded.
  const watched: ChildOptions = onOutput
    ? {
        ...child,
        clock,
        onOutput: (chunk) => {
          if (pid === null) output = `${output}${chunk.toString('utf8')}`.slice(-2_000);
          onOutput(chunk);
        },
      }
    : child;
  const started = await startChild(
    [
      ...prefix,
      ...['bwrap', '--info-fd', String(INFO), '--block-fd', String(BLOCK), '--seccomp', String(FILTER)],
      ...(hasPidNamespace ? ['--sync-fd', String(SYNC)] : []),
      ...options,
      '--',
      ...command,
    ],
    { ...watched, pipes: hasPidNamespace ? 4 : 3 },
  );
  const [info, block, filterPipe, sync] = started.pipes;
  const isForked = new Promise<true>((resolve) => info?.once('data', () => resolve(true)));
  const empty = new Promise<void>((resolve) => sync?.once('close', () => resolve()));
  for (const pipe of started.pipes) pipe.resume();
  filterPipe?.end(filter);
  const ended = started.exited.then(() => false as const);
  pid = (await within(clock, START_LIMIT_MS, Promise.race([isForked, ended]), false))
    ? lastOf(started.pid, (one) => enterCgroup(procsFiles, one))
    : null;
  const kill = () => {
    started.signal('SIGKILL');
    return started.exited;
  };
  if (pid === null) {
    await kill();
    await within(clock, LAST_OUTPUT_MS, started.drained, undefined);
    throw new Error(`bwrap did not start: ${output.trim() || 'it gave no reason'}`);
  }
  try {
    await ready;
  } catch (error) {
    await kill();
    throw error;
  }
  block?.end('x');
  return { child: started, pid, empty };
}

/**
 * Visits a chain of processes that have one child each.
 * @returns the last process; null: the first process has no child
 */
function lastOf(pid: number, visit: (pid: number) => void): number | null {
  let last = pid;
  for (let next: number | undefined = pid; next !== undefined; [next] = childrenOf(last)) {
    visit(next);
    last = next;
  }
  return last === pid ? null : last;
}

/**
 * Starts a helper of a session as its user. In isolated sessions the helper has the same seccomp filter as apps,
 * because an app may try to take over the helper.
 * @param enter command prefix that enters the session's namespaces; empty: the session is not isolated
 */
export async function startHelper(
  { user, enter }: { user: SessionUser | null; enter: readonly string[] },
  argv: readonly string[],
  options: ChildOptions,
  clock: Clock,
): Promise<Child> {
  const command = asSessionUser(user, argv);
  if (user === null || enter.length === 0) return startChild([...enter, ...command], options);
  // The process namespace makes the helper end with this agent. Otherwise bwrap, which has no capabilities, could not
  // kill a process of another user.
  const sandbox = ['--dev-bind', '/', '/', '--unshare-pid', '--proc', '/proc', '--die-with-parent'];
  const line = { prefix: enter, options: sandbox, command, filter: FILTERS.no_user_namespaces };
  const { child, pid: first } = await startSandboxed(line, options, clock);
  const deadlineMs = clock.monotonicMs() + START_LIMIT_MS;
  let [pid] = childrenOf(first);
  while (pid === undefined && child.alive && clock.monotonicMs() < deadlineMs) {
    await delay(clock, START_PERIOD_MS);
    [pid] = childrenOf(first);
  }
  const helper = pid ?? child.pid;
  return {
    ...child,
    pid: helper,
    get alive() {
      return child.alive;
    },
    signal: (signal) => {
      if (child.alive) sendSignal(helper, signal);
    },
  };
}

/** The parts of the host that a sandbox shows, and the parts that it replaces. */
export interface SandboxMounts {
  /** Largest size in bytes of the sandbox's /tmp, of its /var/tmp and of its /dev/shm. */
  tmpBytes: number;
  /** Files that replace /etc/passwd and /etc/group; null: the host's files are visible. */
  passwd: string | null;
  group: string | null;
  /** The file that replaces the host's resolv.conf, and the path that is replaced; null: the host's file is visible. */
  resolver: { file: string; path: string } | null;
  /** Directories that are empty in the sandbox, except for the paths in `keep`. */
  covered: readonly string[];
  /** Paths below `covered`, /tmp and /var/tmp that stay visible in the sandbox. */
  keep: readonly string[];
  /** Directories that replace others in the sandbox. */
  replaced: readonly { source: string; path: string }[];
  /**
   * Device files and directories of /dev, in addition to those of every sandbox; null: all devices, if the agent is not
   * root.
   */
  devices: readonly string[] | null;
  /** Directories that are empty in the sandbox. */
  hidden: readonly string[];
  /** Directories that the sandbox replaces by its own, if the host has them: /var/tmp, /run/lock, /dev/mqueue. */
  own: readonly string[];
}

const tmpfs = (path: string, bytes: number, mode: string): string[] => [
  ...['--size', String(bytes), '--perms', mode, '--tmpfs', path],
];

/**
 * Options of bwrap for the file systems of an app. The host's files are visible with the host's permissions, but setuid
 * programs have no effect, and only the listed devices exist.
 *
 * Two sessions must not be able to write to the same directory. A socket in it could pass descriptors from one session
 * to the other, and the memory behind a descriptor would outlive the session that created it.
 */
export function mountOptions(mounts: SandboxMounts): string[] {
  const bind = (source: string, path: string) => ['--dir', dirname(path), '--bind', source, path];
  const { tmpBytes, passwd, group, resolver, devices, own } = mounts;
  return [
    // With --dev, bwrap would create a second user namespace, and other programs could not enter the sandbox.
    ...(devices === null ? ['--dev-bind', '/', '/'] : ['--bind', '/', '/', '--dev', '/dev']),
    ...['--proc', '/proc'],
    ...(devices ?? []).flatMap((path) => ['--dev-bind-try', path, path]),
    ...tmpfs('/dev/shm', tmpBytes, '1777'),
    ...(own.includes('/dev/mqueue') ? ['--mqueue', '/dev/mqueue'] : []),
    ...mounts.hidden.flatMap((path) => [...tmpfs(path, 4_096, '0755'), '--remount-ro', path]),
    ...(own.includes('/run/lock') ? tmpfs('/run/lock', 1024 * 1024, '1777') : []),
    ...(passwd === null ? [] : ['--ro-bind', passwd, '/etc/passwd']),
    ...(group === null ? [] : ['--ro-bind', group, '/etc/group']),
    ...(resolver === null ? [] : ['--ro-bind', resolver.file, resolver.path]),
    // Size for some empty directories, which need a page each.
    ...mounts.covered.flatMap((path) => tmpfs(path, 65_536, '0755')),
    ...tmpfs('/tmp', tmpBytes, '1777'),
    ...(own.includes('/var/tmp') ? tmpfs('/var/tmp', tmpBytes, '1777') : []),
    // --dir creates missing parent directories for all users; without it, bwrap would create them for root only.
    ...mounts.keep.flatMap((path) => bind(path, path)),
    ...mounts.replaced.flatMap(({ source, path }) => bind(source, path)),
  ];
}

/** Namespaces that are kept open, so that programs can be started in them. */
export interface Room {
  /** bwrap, whose only child is process 1. It ends when all processes in the room have ended. */
  readonly child: Child;
  /** Process 1 of the room. */
  readonly first: number;
}

const READY = 'ready\n';

/**
 * Opens a room. The room's program is cat(1), which reads until this process ends.
 * @param prefix command prefix that enters other namespaces
 * @param options further options of bwrap
 * @throws when the room cannot be created
 */
export async function openRoom(
  prefix: readonly string[],
  options: readonly string[],
  env: Record<string, string>,
  clock: Clock,
): Promise<Room> {
  let output = '';
  let resolveReady: (isReady: true) => void = () => undefined;
  const ready = new Promise<true>((resolve) => {
    resolveReady = resolve;
  });
  const line = [...options, '--unshare-pid', '--die-with-parent', '--', 'cat'];
  const child = await startChild([...prefix, 'bwrap', ...line], {
    env,
    cwd: '/',
    lifeline: true,
    clock,
    onOutput: (chunk) => {
      output = `${output}${chunk.toString('utf8')}`.slice(-2_000);
      if (output.endsWith(READY)) resolveReady(true);
    },
  });
  child.stdin?.write(READY);
  const ended = child.exited.then(() => false as const);
  const isReady = await within(clock, START_LIMIT_MS, Promise.race([ready, ended]), false);
  const [first] = isReady ? childrenOf(child.pid) : [];
  if (first !== undefined) return { child, first };
  child.signal('SIGKILL');
  await child.exited;
  throw new Error(`bwrap: ${output.trim() || 'it gave no reason'}`);
}

import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { eventually, PATIENCE_MS } from './program.ts';

/** Resources of an agent and its sessions on a machine; each list is sorted and free of process ids. */
export interface HostTraces {
  /** Command lines of the agent's descendants. */
  readonly processes: string[];
  readonly displays: string[];
  /** Files, directories and sockets below the agent's state directory, except persistent homes. */
  readonly files: string[];
  readonly sharedMemory: string[];
  readonly mounts: string[];
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function names(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Descendants of `root`, as [pid, command line]. */
export function descendants(root: number): Array<[number, string]> {
  const children = new Map<number, number[]>();
  for (const pid of names('/proc').filter((name) => /^\d+$/.test(name))) {
    // The second field of stat is the name in parentheses and may contain spaces; the parent is the second field
    // after it (man 5 proc).
    const parent = Number(read(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ')[1]);
    if (Number.isInteger(parent)) children.set(parent, [...(children.get(parent) ?? []), Number(pid)]);
  }
  const found: Array<[number, string]> = [];
  const visit = (pid: number) => {
    for (const child of children.get(pid) ?? []) {
      found.push([child, read(`/proc/${child}/cmdline`).replaceAll('\0', ' ').trim()]);
      visit(child);
    }
  };
  visit(root);
  return found;
}

/** False for a zombie process: a zombie uses no display, socket or memory. */
export function isRunning(pid: number): boolean {
  const state = read(`/proc/${pid}/stat`).split(') ').at(-1);
  return state !== undefined && state !== '' && !state.startsWith('Z');
}

function filesBelow(directory: string, skip: readonly string[]): string[] {
  return names(directory).flatMap((name) => {
    const full = path.join(directory, name);
    if (skip.includes(full)) return [];
    return [full, ...filesBelow(full, skip)];
  });
}

/** Returns a test for the user ids of this agent's sessions, because other agents may run on the same machine. */
function usersOf(agentPid: number): (uid: number) => boolean {
  if (process.getuid?.() !== 0) return (uid) => uid === process.getuid?.();
  const given = /(?:^|\0)SERVICE_PROCESS_UIDS=(\d+)-(\d+)/.exec(read(`/proc/${agentPid}/environ`));
  const [first, last] = given === null ? [70_000, 70_255] : [Number(given[1]), Number(given[2])];
  return (uid) => uid >= first && uid <= last;
}

/** @param agentDirectory SERVICE_AGENT_STATE_DIR */
export function hostTraces(agentPid: number, agentDirectory: string): HostTraces {
  const isTheirs = usersOf(agentPid);
  return {
    processes: descendants(agentPid)
      // Commands of the prepared network contain the process id of its process 1. The id changes when a session uses
      // the network and the agent prepares a new one.
      .map(([, command]) => command.replace(/(?<=--target )\d+/, 'PID'))
      .sort(),
    displays: [
      ...names('/tmp/.X11-unix').map((name) => `/tmp/.X11-unix/${name}`),
      ...names('/tmp').flatMap((name) => (/^\.X\d+-lock$/.test(name) ? [`/tmp/${name}`] : [])),
    ]
      .filter((file) => isTheirs(ownerOf(file)))
      .sort(),
    files: filesBelow(agentDirectory, [path.join(agentDirectory, 'homes')])
      // The parent folder of the session folders stays. The file of job reports does not depend on sessions.
      .filter((file) => file !== path.join(agentDirectory, 'sessions') && !/\/job-reports\.json\b/.test(file))
      .sort(),
    sharedMemory: [
      ...names('/dev/shm').filter(
        (name) => !/chromium|PostgreSQL/.test(name) && isTheirs(ownerOf(`/dev/shm/${name}`)),
      ),
      ...read('/proc/sysvipc/shm')
        .split('\n')
        .slice(1)
        .map((line) => line.trim().split(/\s+/)[7] ?? '')
        .filter((uid) => uid !== '' && isTheirs(Number(uid)))
        .map((uid) => `segment of ${uid}`),
    ].sort(),
    mounts: read('/proc/self/mounts')
      .split('\n')
      .map((line) => line.split(' ')[1] ?? '')
      .filter((target) => target.startsWith(agentDirectory))
      .sort(),
  };
}

/**
 * The same list, when every helper of the agent has started its program; null: a helper has forked but has not started
 * its program.
 */
export function steadyTraces(agentPid: number, agentDirectory: string): HostTraces | null {
  const traces = hostTraces(agentPid, agentDirectory);
  const isStarting = (command: string) => command === '' || command.endsWith('dist/main.js run');
  return traces.processes.some(isStarting) ? null : traces;
}

/**
 * Waits until the host has no more resources than before a session. Resources that the agent prepares in advance may be
 * missing: it prepares them again for the next launch.
 * @throws ExpiredWait with the leftovers
 */
export async function nothingLeft(
  agentPid: number,
  agentDirectory: string,
  before: HostTraces,
): Promise<void> {
  await eventually('nothing of the session is left', PATIENCE_MS, () => {
    const now = hostTraces(agentPid, agentDirectory);
    const [has, had] = [now, before].map((traces) => Object.values(traces).flat() as string[]);
    const left = surplus(has, had);
    if (left.length === 0) return true;
    throw new Error(JSON.stringify(left));
  });
}

/** Items that are more often in `some` than in `others`. */
function surplus(some: readonly string[] = [], others: readonly string[] = []): string[] {
  const rest = [...others];
  return some.filter((one) => {
    const at = rest.indexOf(one);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
}

/** First and last user id of an agent's session users. */
export type Uids = readonly [first: number, last: number];

/** Resources of one agent's sessions on a shared machine. */
export interface SessionTraces extends Omit<HostTraces, 'displays' | 'sharedMemory'> {
  /** Display sockets and shared memory segments that belong to the session users. */
  readonly ofSessions: string[];
  /** Names of files in the temporary directories that apps and their children create. */
  readonly temporary: string[];
}

/**
 * @param uids SERVICE_PROCESS_UIDS, used by no other agent on this machine; without root, sessions have no separate
 *   users
 */
export function sessionTraces(agentPid: number, agentDirectory: string, uids: Uids): SessionTraces {
  const { displays, sharedMemory, ...traces } = hostTraces(agentPid, agentDirectory);
  const isTheirs = (uid: number) => uid >= uids[0] && uid <= uids[1];
  return {
    ...traces,
    ofSessions: [
      ...displays.filter((file) => isTheirs(ownerOf(path.resolve('/tmp', file)))),
      ...sharedMemory.filter((line) => isTheirs(Number(/^segment of (\d+)$/.exec(line)?.[1] ?? 0))),
    ],
    temporary: ['/tmp', '/var/tmp'].flatMap((directory) =>
      names(directory).filter(
        (name) =>
          /^(dbus-|pulse-|\.esd|xauth|serverauth|dconf)/.test(name) ||
          isTheirs(ownerOf(path.join(directory, name))),
      ),
    ),
  };
}

function ownerOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.uid ?? 0;
}

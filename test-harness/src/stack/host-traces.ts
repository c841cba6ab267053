import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/** What an agent and its sessions have on a machine at a moment; each list is sorted and free of process ids. */
export interface HostTraces {
  /** Command lines of everything below the agent. */
  readonly processes: string[];
  readonly displays: string[];
  /** Files, directories and sockets below the agent's state directory, without the homes that are kept on purpose. */
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

/** Processes whose ancestor is `root`, as [pid, command line]. */
export function descendants(root: number): Array<[number, string]> {
  const children = new Map<number, number[]>();
  for (const pid of names('/proc').filter((name) => /^\d+$/.test(name))) {
    // The second field is a name in parentheses that may hold spaces; the parent is the second field after it.
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

/** A process that waits for nothing but to be reaped counts as gone: it holds no display, socket or memory any more. */
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

/** The agent's own user, or one of those that it gives to sessions; a database server's segments are none of theirs. */
function isSessionUser(uid: string): boolean {
  return uid === String(process.getuid?.()) || Number(uid) >= 70_000;
}

/** @param agentDirectory SERVICE_AGENT_STATE_DIR */
export function hostTraces(agentPid: number, agentDirectory: string): HostTraces {
  return {
    processes: descendants(agentPid)
      // The network that is kept ready names the agent's process.
      .map(([, command]) => command.replace(/\/proc\/\d+\//, '/proc/self/'))
      .sort(),
    displays: [
      ...names('/tmp/.X11-unix').map((name) => `/tmp/.X11-unix/${name}`),
      ...names('/tmp').filter((name) => /^\.X\d+-lock$/.test(name)),
    ].sort(),
    files: filesBelow(agentDirectory, [path.join(agentDirectory, 'homes')])
      // The folder that sessions' own folders come and go in stays.
      .filter((file) => file !== path.join(agentDirectory, 'sessions'))
      .sort(),
    sharedMemory: [
      ...names('/dev/shm').filter((name) => !/chromium|PostgreSQL/.test(name)),
      ...read('/proc/sysvipc/shm')
        .split('\n')
        .slice(1)
        .map((line) => line.trim().split(/\s+/)[7] ?? '')
        .filter(isSessionUser)
        .map((uid) => `segment of ${uid}`),
    ].sort(),
    mounts: read('/proc/self/mounts')
      .split('\n')
      .map((line) => line.split(' ')[1] ?? '')
      .filter((target) => target.startsWith(agentDirectory))
      .sort(),
  };
}

/** The first and the last of the users that an agent gives to its sessions. */
export type Uids = readonly [first: number, last: number];

/** What the sessions of one agent have on a machine that others use too. */
export interface SessionTraces extends Omit<HostTraces, 'displays' | 'sharedMemory'> {
  /** Sockets of displays and segments of shared memory that belong to its sessions' users. */
  readonly ofSessions: string[];
  /** Names in the temporary directories that apps and what they start leave there. */
  readonly temporary: string[];
}

/** @param uids SERVICE_PROCESS_UIDS, given to no other agent on this machine; without root sessions have none */
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

import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { displaySocket, SOCKET_DIR, socketMark } from '../display/display-number.ts';
import {
  childrenOf,
  listProcesses,
  pidNamespace,
  SESSION_VARIABLE,
  startVariable,
} from '../runtime/proc-table.ts';

/** Remains of sessions on this host. A test expects every list to be empty. */
export interface Traces {
  processes: string[];
  displays: string[];
  directories: string[];
  sharedMemory: string[];
  cgroups: string[];
}

export const NO_TRACES: Traces = {
  processes: [],
  displays: [],
  directories: [],
  sharedMemory: [],
  cgroups: [],
};

/** A display of a session, with its number and the server's socket. */
export interface DisplayTrace {
  number: number;
  socket: string | null;
}

/**
 * @param uids range of the agent's session users
 * @param displays displays of the agent's sessions; a number that another server uses now does not count
 * @param sessionIds ids of the agent's sessions. Only control groups with one of these ids are listed, and processes
 * with one of these ids are listed even if their uid is outside the range
 */
export async function tracesOf(
  stateDir: string,
  uids: readonly [number, number],
  displays: readonly DisplayTrace[],
  sessionIds: readonly string[],
): Promise<Traces> {
  const marks = await Promise.all(displays.map(({ number }) => socketMark(number)));
  const isOurs = (uid: number) => uid >= uids[0] && uid <= uids[1];
  return {
    processes: listProcesses()
      .filter((row) => isOurs(row.uid) || sessionIds.includes(startVariable(row.pid, SESSION_VARIABLE) ?? ''))
      .map((row) => `${row.pid} ${commandOf(row.pid)}`),
    displays: [
      ...displays.flatMap(({ number, socket }, index) =>
        socket !== null && marks[index] === socket ? [displaySocket(number)] : [],
      ),
      // Sockets of displays that no session has recorded.
      ...(existsSync(SOCKET_DIR) ? readdirSync(SOCKET_DIR) : [])
        .map((name) => `${SOCKET_DIR}/${name}`)
        .filter((path) => isOurs(statSync(path, { throwIfNoEntry: false })?.uid ?? -1)),
    ],
    directories: existsSync(`${stateDir}/sessions`) ? readdirSync(`${stateDir}/sessions`) : [],
    sharedMemory: readFileSync('/proc/sysvipc/shm', 'utf8')
      .split('\n')
      .slice(1)
      .filter((row) => isOurs(Number(row.trim().split(/\s+/)[7]))),
    cgroups: listCgroups().filter((name) => sessionIds.some((id) => name.endsWith(id))),
  };
}

/** Processes of a session, with pid and command. */
export function processesOf(sessionId: string): { pid: number; command: string }[] {
  return listProcesses()
    .filter((row) => startVariable(row.pid, SESSION_VARIABLE) === sessionId)
    .map(({ pid }) => ({ pid, command: commandOf(pid) }));
}

/** Processes of an agent that keep the networks of apps open. One further network may be prepared for the next app. */
export function networkHolders(agentPid: number): number[] {
  return listProcesses()
    .filter((row) => row.ppid === agentPid && commandOf(row.pid).includes('--unshare-net'))
    .flatMap(({ pid }) => childrenOf(pid));
}

/** Identity of a process's network namespace; "": the process has ended. */
export function networkOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return '';
  }
}

/**
 * Whether `pasta` carries the traffic of the network that this process keeps open. `pasta` runs in the process
 * namespace of that process.
 */
export function hasPasta(holder: number): boolean {
  const namespace = pidNamespace(holder);
  return listProcesses().some(
    ({ pid }) => commandOf(pid).startsWith('/usr/bin/pasta') && pidNamespace(pid) === namespace,
  );
}

export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}

/** Control groups of sessions below this process's own groups. */
function listCgroups(): string[] {
  const roots = readFileSync('/proc/self/cgroup', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, controllers = '', path = ''] = line.split(':');
      return controllers === '' ? [] : [`/sys/fs/cgroup/${controllers}${path}`];
    });
  return roots.flatMap((root) =>
    existsSync(root) ? readdirSync(root).filter((name) => /^footlight-(?!probe)/.test(name)) : [],
  );
}

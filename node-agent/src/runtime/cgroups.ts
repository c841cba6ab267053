import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, dirname, join } from 'node:path';

export interface CgroupLimits {
  /** Bytes; 0: no limit. */
  memoryBytes: number;
  /** Cores; 0: no limit. */
  cpus: number;
  /** Number of processes and threads; missing: no limit. Ignored if only the pids controller is missing. */
  pids?: number;
}

/** Control groups of a session. Owner: the creator, which removes them after the last process has ended. */
export interface SessionCgroup {
  /** Directories: one on v2; on v1, one per controller. */
  dirs: string[];
  /** Files to which a process writes 0 to enter the groups. */
  procsFiles: string[];
}

const ROOT = '/sys/fs/cgroup';
/** The kernel's default period of CPU limits (Documentation/scheduler/sched-bwc). */
const CPU_PERIOD_US = 100_000;
/**
 * CPU shares (v1) of one process of the host, and the largest value that a group can get. The kernel divides a group's
 * shares among the cores.
 */
const PROCESS_SHARES = 1_024;
const MAX_SHARES = 262_144;
/**
 * Limit of a group's TCP and UDP socket buffers on v1. v1 does not count these buffers as memory of the group; v2 does.
 * All programs of a host share a tenth of its memory for these buffers (tcp_mem). One app that never reads its
 * connections could fill this share. Chosen, not measured: 20 connections with the largest default buffers.
 */
const SOCKET_BYTES = 128 * 1024 * 1024;
const SOCKET_LIMIT = 'memory.kmem.tcp.limit_in_bytes';
const socketLimit = (memoryBytes: number): string => String(Math.min(memoryBytes, SOCKET_BYTES));
/**
 * The agent's own group below its service's group, because a group whose children have controllers cannot contain
 * processes.
 */
const AGENT_GROUP = 'footlight-agent';

/**
 * Creates control groups with limits in the mounted hierarchy (v1 or v2).
 *
 * Even without a limit, an app gets a group for processor time: on each core, all its processes together get as much as
 * one process of the host. Otherwise an app that forks endlessly would take nearly all processor time from the agent
 * and other sessions.
 * @returns null: this machine does not permit groups. The app then runs without limits, and a readiness check reports
 * this
 */
export function makeCgroup(name: string, limits: CgroupLimits): SessionCgroup | null {
  const dirs: string[] = [];
  try {
    if (existsSync(join(ROOT, 'cgroup.controllers'))) makeUnified(name, limits, dirs);
    else makeLegacy(name, limits, dirs);
    return { dirs, procsFiles: dirs.map((dir) => join(dir, 'cgroup.procs')) };
  } catch {
    removeCgroupDirs(dirs);
    return null;
  }
}

/** Removes empty groups. @returns the directories of groups that still contain processes */
export function removeCgroupDirs(dirs: readonly string[]): string[] {
  return dirs.filter((dir) => {
    try {
      rmdirSync(dir);
      return false;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code !== 'ENOENT';
    }
  });
}

/**
 * Moves this process into its own group below its systemd service's group, which Delegate=yes permits (v2). Session
 * groups are created next to this group, so they belong to the service and end with it. No effect without systemd.
 * Source: systemd.resource-control(5), Delegate=; https://systemd.io/CGROUP_DELEGATION.
 */
export function enterServiceGroup(
  env: Readonly<Record<string, string | undefined>> = process.env,
  root = ROOT,
): void {
  // systemd sets SYSTEMD_EXEC_PID for the process that it started, but children of that process inherit the variable.
  if (env.SYSTEMD_EXEC_PID !== String(process.pid) || !existsSync(join(root, 'cgroup.controllers'))) return;
  const own = ownGroups().get('');
  if (own === undefined || own === '/') return;
  try {
    const group = join(root, own, AGENT_GROUP);
    mkdirSync(group, { recursive: true });
    writeFileSync(join(group, 'cgroup.procs'), String(process.pid));
  } catch {
    // Sessions then run without limits; a readiness check reports this.
  }
}

/**
 * Parent of session groups (v2): the service's group, or the root group if there is no service. Only the root group may
 * contain processes even if its children have controllers.
 * @param own this process's group in /proc/self/cgroup
 */
export function sessionsParent(own: string | undefined): string {
  return own !== undefined && basename(own) === AGENT_GROUP ? dirname(own) : '/';
}

function makeUnified(name: string, limits: CgroupLimits, dirs: string[]): void {
  const top = join(ROOT, sessionsParent(ownGroups().get('')));
  const parent = join(top, 'footlight');
  mkdirSync(parent, { recursive: true });
  for (const dir of [top, parent]) writeFileSync(join(dir, 'cgroup.subtree_control'), '+memory +cpu');
  const dir = join(parent, name);
  mkdirSync(dir);
  dirs.push(dir);
  if (limits.memoryBytes > 0) {
    writeFileSync(join(dir, 'memory.max'), String(limits.memoryBytes));
    // Without this limit, a group at its memory limit would use the host's swap until the swap is full.
    whereAvailable(() => writeFileSync(join(dir, 'memory.swap.max'), '0'));
  }
  if (limits.cpus > 0) writeFileSync(join(dir, 'cpu.max'), `${cpuQuotaUs(limits.cpus)} ${CPU_PERIOD_US}`);
  const { pids } = limits;
  if (pids === undefined) return;
  whereAvailable(() => {
    for (const above of [top, parent]) writeFileSync(join(above, 'cgroup.subtree_control'), '+pids');
    writeFileSync(join(dir, 'pids.max'), String(pids));
  });
}

/** Moves a process into groups. Errors are ignored, because the process may have ended. */
export function enterCgroup(procsFiles: readonly string[], pid: number): void {
  for (const file of procsFiles) whereAvailable(() => writeFileSync(file, String(pid)));
}

function makeLegacy(name: string, limits: CgroupLimits, dirs: string[]): void {
  const own = ownGroups();
  const make = (controller: string): string => {
    const dir = join(ROOT, controller, own.get(controller) ?? '/', `footlight-${name}`);
    mkdirSync(dir);
    dirs.push(dir);
    return dir;
  };
  if (limits.memoryBytes > 0) {
    const dir = make('memory');
    writeFileSync(join(dir, 'memory.limit_in_bytes'), String(limits.memoryBytes));
    // Limit of memory and swap together. The kernel requires that it is not below the memory limit, so the memory limit
    // is set first.
    whereAvailable(() => writeFileSync(join(dir, 'memory.memsw.limit_in_bytes'), String(limits.memoryBytes)));
    whereAvailable(() => writeFileSync(join(dir, SOCKET_LIMIT), socketLimit(limits.memoryBytes)));
  }
  const { pids } = limits;
  if (pids !== undefined) whereAvailable(() => writeFileSync(join(make('pids'), 'pids.max'), String(pids)));
  try {
    const dir = make('cpu');
    writeFileSync(
      join(dir, 'cpu.shares'),
      String(Math.min(MAX_SHARES, PROCESS_SHARES * availableParallelism())),
    );
    if (limits.cpus === 0) return;
    writeFileSync(join(dir, 'cpu.cfs_period_us'), String(CPU_PERIOD_US));
    writeFileSync(join(dir, 'cpu.cfs_quota_us'), String(cpuQuotaUs(limits.cpus)));
  } catch (error) {
    if (limits.cpus > 0) throw error;
  }
}

/**
 * Limits the TCP and UDP socket buffers of a process's group (v1; v2 counts them as memory).
 * @returns exceeded: the buffers already contain more bytes. none: this machine does not offer the limit, or it is not
 * writable
 */
export function limitSocketMemory(pid: number, memoryBytes: number): 'limited' | 'exceeded' | 'none' {
  try {
    const group = groupsIn(readFileSync(`/proc/${pid}/cgroup`, 'utf8')).get('memory');
    if (group === undefined || group === '/') return 'none';
    writeFileSync(join(ROOT, 'memory', group, SOCKET_LIMIT), socketLimit(memoryBytes));
    return 'limited';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EBUSY' ? 'exceeded' : 'none';
  }
}

/** Makes a change and ignores its failure, because the machine may lack a controller, or the process may have ended. */
function whereAvailable(change: () => void): void {
  try {
    change();
  } catch {
    // The other limits still apply.
  }
}

function cpuQuotaUs(cpus: number): number {
  return Math.max(1_000, Math.round(cpus * CPU_PERIOD_US));
}

/**
 * This process's group by v1 controller. On v1, session groups are created below it, so its limits also apply to
 * sessions. The key "" contains the group on v2.
 */
const ownGroups = (): Map<string, string> => groupsIn(readFileSync('/proc/self/cgroup', 'utf8'));

/** @param text content of /proc/<pid>/cgroup */
function groupsIn(text: string): Map<string, string> {
  const groups = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, controllers, path] = line.split(':');
    for (const controller of (controllers ?? '').split(',')) {
      if (path !== undefined) groups.set(controller, path);
    }
  }
  return groups;
}

/** Removes the groups of all apps of a session whose agent was killed. */
export function removeSessionCgroups(sessionId: string): void {
  const own = ownGroups();
  const parents = [join(ROOT, sessionsParent(own.get('')), 'footlight')];
  for (const [controller, path] of own) if (controller !== '') parents.push(join(ROOT, controller, path));
  for (const parent of parents) {
    if (!existsSync(parent)) continue;
    const names = readdirSync(parent).filter((name) => name.endsWith(sessionId));
    removeCgroupDirs(names.map((name) => join(parent, name)));
  }
}

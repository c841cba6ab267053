import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export interface CgroupLimits {
  /** Bytes; 0 = no limit. */
  memoryBytes: number;
  /** Cores; 0 = no limit. */
  cpus: number;
}

/** A session's control groups. Owner: its maker, which removes it when its last process is gone. */
export interface SessionCgroup {
  /** Directories, one on v2 and one per controller on v1. */
  dirs: string[];
  /** Files that a process writes 0 to in order to enter. */
  procsFiles: string[];
}

const ROOT = '/sys/fs/cgroup';
const CPU_PERIOD_US = 100_000;
/** The agent's own group below that of its service: a group with controllers below it may hold no process itself. */
const AGENT_GROUP = 'footlight-agent';

/**
 * Makes control groups with the given limits, in the hierarchy that is mounted (v1 or v2).
 *
 * @returns null when no limit is asked for, or when this machine does not let us write there: the app then runs
 * without these limits, which readiness says
 */
export function makeCgroup(name: string, limits: CgroupLimits): SessionCgroup | null {
  if (limits.memoryBytes === 0 && limits.cpus === 0) return null;
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

/** Removes empty groups. @returns the directories that are still in use */
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
 * Moves this process into a group of its own below that of its systemd service, which Delegate=yes hands over (v2).
 * Groups of sessions are then made beside it: they count for the service and end with it. Does nothing elsewhere.
 * Source: systemd.resource-control(5), Delegate=; https://systemd.io/CGROUP_DELEGATION.
 */
export function enterServiceGroup(
  env: Readonly<Record<string, string | undefined>> = process.env,
  root = ROOT,
): void {
  // Set for the very process that systemd started, and inherited by its children.
  if (env.SYSTEMD_EXEC_PID !== String(process.pid) || !existsSync(join(root, 'cgroup.controllers'))) return;
  const own = ownGroups().get('');
  if (own === undefined || own === '/') return;
  try {
    const group = join(root, own, AGENT_GROUP);
    mkdirSync(group, { recursive: true });
    writeFileSync(join(group, 'cgroup.procs'), String(process.pid));
  } catch {
    // Sessions then run without limits, which readiness says.
  }
}

/**
 * The group below which groups of sessions are made (v2): that of the service, or else the root group, since only
 * there may a group have both processes beside it and controllers below it. Pure.
 * @param own this process's group, as /proc/self/cgroup names it
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
  if (limits.memoryBytes > 0) writeFileSync(join(dir, 'memory.max'), String(limits.memoryBytes));
  if (limits.cpus > 0) writeFileSync(join(dir, 'cpu.max'), `${cpuQuotaUs(limits.cpus)} ${CPU_PERIOD_US}`);
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
    writeFileSync(join(make('memory'), 'memory.limit_in_bytes'), String(limits.memoryBytes));
  }
  if (limits.cpus > 0) {
    const dir = make('cpu');
    writeFileSync(join(dir, 'cpu.cfs_period_us'), String(CPU_PERIOD_US));
    writeFileSync(join(dir, 'cpu.cfs_quota_us'), String(cpuQuotaUs(limits.cpus)));
  }
}

function cpuQuotaUs(cpus: number): number {
  return Math.max(1_000, Math.round(cpus * CPU_PERIOD_US));
}

/**
 * This process's group per v1 controller, where limits of its own parent still hold for what is below it; and under
 * the empty name its group on v2.
 */
function ownGroups(): Map<string, string> {
  const groups = new Map<string, string>();
  for (const line of readFileSync('/proc/self/cgroup', 'utf8').split('\n')) {
    const [, controllers, path] = line.split(':');
    for (const controller of (controllers ?? '').split(',')) {
      if (path !== undefined) groups.set(controller, path);
    }
  }
  return groups;
}

/** Removes the groups of a session whose maker was killed, those of every app that it had. */
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

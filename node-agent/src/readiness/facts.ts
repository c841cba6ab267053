import { createSocket } from 'node:dgram';
import { constants, existsSync, statfsSync, statSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';
import { errorText } from '@footlight/platform';
import ipaddr from 'ipaddr.js';
import { isAllowed } from '../linux/access.ts';
import { makeCgroup, removeCgroupDirs } from '../runtime/cgroups.ts';

/** Programs that sessions need, each with its Debian package. */
export const PROGRAMS: Readonly<Record<string, string>> = {
  Xvfb: 'xvfb',
  pulseaudio: 'pulseaudio',
  'matchbox-window-manager': 'matchbox-window-manager',
  'dbus-daemon': 'dbus',
  bwrap: 'bubblewrap',
  find: 'findutils',
  setpriv: 'util-linux',
  unshare: 'util-linux',
  choom: 'util-linux',
  prlimit: 'util-linux',
  ipcrm: 'util-linux',
  nsenter: 'util-linux',
  ip: 'iproute2',
  du: 'coreutils',
};

const PATHS = (process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin').split(':');

export function missingPrograms(): string[] {
  return Object.keys(PROGRAMS).filter(
    (name) => !PATHS.some((dir) => isAllowed(join(dir, name), constants.X_OK)),
  );
}

/** Addresses of this machine that viewers could reach, without loopback and link-local addresses. */
export function reachableAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .map(({ address }) => address.split('%')[0] ?? '')
    .filter((address) => ipaddr.isValid(address))
    .filter((address) => !['loopback', 'linkLocal', 'unspecified'].includes(ipaddr.process(address).range()));
}

/** Space of a directory's file system, even if the directory does not exist yet; null: unknown. */
export function diskOf(path: string): { path: string; freeBytes: number; totalBytes: number } | null {
  try {
    const { bavail, blocks, bsize } = statfsSync(nearest(path));
    return { path, freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch {
    return null;
  }
}

/**
 * Whether files can be created in a directory, or the directory can be created if it is missing; false on a read-only
 * file system.
 */
export function isWritable(path: string): boolean {
  return isAllowed(nearest(path), constants.W_OK);
}

/** The path itself, or its closest existing parent. */
function nearest(path: string): string {
  let at = path;
  while (!existsSync(at) && at !== '/') at = dirname(at);
  return at;
}

/** Tests control group limits by creating a group. */
export function areLimitsEnforceable(memoryMb: number, cpus: number): boolean {
  const cgroup = makeCgroup(`probe-${process.pid}`, { memoryBytes: memoryMb * 1024 * 1024, cpus });
  if (!cgroup) return false;
  removeCgroupDirs(cgroup.dirs);
  return true;
}

/**
 * Tests whether this process can join the mDNS multicast group. @returns the reason of the failure; null: no failure
 */
export function mdnsProblem(): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = createSocket({ type: 'udp4', reuseAddr: true });
    const settle = (problem: string | null) => {
      socket.close();
      resolve(problem);
    };
    socket.once('error', (error) => settle(errorText(error, 200)));
    socket.bind(5353, () => {
      try {
        socket.addMembership('224.0.0.251');
        settle(null);
      } catch (error) {
        settle(errorText(error, 200));
      }
    });
  });
}

/** The first directory on a path that other users cannot traverse; null: all can be traversed. */
export function closedAncestor(path: string): string | null {
  const ancestors: string[] = [];
  for (let at = path; at !== '/'; at = dirname(at)) ancestors.unshift(at);
  for (const at of ancestors) {
    try {
      if ((statSync(at).mode & 0o001) === 0) return at;
    } catch {
      return null;
    }
  }
  return null;
}

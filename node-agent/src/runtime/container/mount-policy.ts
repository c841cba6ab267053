import { isAbsolute, resolve } from 'node:path';
import type { MountRoot } from '../../config/environment.ts';
import { isMountable } from './engine/engine-names.ts';

/** Facts of this host that decide about mounts. */
export interface MountRules {
  roots: readonly MountRoot[];
  stateDir: string;
  homeRoot: string;
  users: AppUsers;
}

/** The users that apps run as. */
export interface AppUsers {
  /** Inclusive range of uids; null: apps run as the agent's user. */
  range: readonly [number, number] | null;
  /** Uid of the agent. */
  own: number;
}

/** A directory on the path to a mount's source, with links resolved. */
export interface WayPart {
  path: string;
  uid: number;
  /** Permission bits and the sticky bit. */
  mode: number;
  /** Owner of the next entry on the path. */
  nextUid: number;
}

export interface Mount {
  source: string;
  target: string;
  writable: boolean;
}

/** A mount that this host refuses; the message contains the path. */
export class MountRefused extends Error {}

/** Parses `src:dst` or `src:dst:opts`. Pure. @throws MountRefused */
export function parseMount(entry: string): { source: string; target: string } {
  const [source = '', target = '', ...options] = entry.split(':');
  const parts = [...source.split('/'), ...target.split('/')];
  if (options.length > 1 || parts.includes('..') || ![source, target].every(isMountable))
    throw new MountRefused(`${entry} is no mount of the form /source:/target`);
  if (resolve(target) === '/') throw new MountRefused(`${entry}: nothing can be mounted on /`);
  return { source, target };
}

/**
 * Decides whether a source may be mounted. Pure.
 * @param real the source with links resolved; in the rules, links must be resolved too
 * @returns whether an app may write to it
 * @throws MountRefused
 */
export function decideMount(real: string, { roots, stateDir, homeRoot }: MountRules): boolean {
  for (const own of [stateDir, homeRoot]) {
    if (isAtOrBelow(real, own) || isAtOrBelow(own, real))
      throw new MountRefused(`${real} holds files of the agent or of people (${own})`);
  }
  // If several roots contain the source, the longest one decides whether an app may write.
  const root = roots
    .filter(({ path }) => isAtOrBelow(real, path))
    .sort((a, b) => b.path.length - a.path.length)[0];
  if (root === undefined) throw new MountRefused(`${real} is not below a path of SERVICE_MOUNT_ROOTS`);
  return root.writable;
}

/** Bits of a file's mode. Source: stat(2). */
const STICKY = 0o1000;
const WRITE = { group: 0o020, others: 0o002 };

/**
 * Whether apps could replace an entry of this directory. The engine opens the source by its path some time after this
 * check. A link that an app creates on the path in this time could give the app any directory of the host. Pure.
 *
 * An access list may give a single user the right to write. The list's mask appears as the group's permissions
 * (acl(5)), so the group's permissions are checked too. It does no harm if other users of the machine own a directory,
 * because an app can access only what its own user may access.
 * @param part a directory; links in it and in `rules.roots` must be resolved
 * @returns the reason, for administrators; null: apps cannot
 */
export function whyChangeable(
  { path, uid, mode, nextUid }: WayPart,
  { roots, users: { range, own } }: Pick<MountRules, 'roots' | 'users'>,
): string | null {
  const isOfApps = (owner: number) => range !== null && owner >= range[0] && owner <= range[1];
  if (isOfApps(uid)) return 'belongs to the user of a session';
  // An app that runs as the agent's user can write from its container only to directories that are mounted writable.
  const isMountedForWriting = roots.some((root) => root.writable && isAtOrBelow(path, root.path));
  if (range === null && uid === own && isMountedForWriting) return 'can be written to by apps';
  const isShared = (mode & (WRITE.group | WRITE.others)) !== 0;
  // In a sticky directory, other users cannot rename or remove entries that belong to root or the agent.
  const isKept = (mode & STICKY) !== 0 && (nextUid === 0 || (range !== null && nextUid === own));
  return isShared && !isKept ? 'can be written to by its group or by everybody' : null;
}

function isAtOrBelow(path: string, folder: string): boolean {
  return isAbsolute(path) && (path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`));
}

import { isBelow } from '../home-path.ts';

/** Facts about a home and its base. */
export interface BaseFacts {
  provider: 'local' | 'volume';
  /**
   * empty: no files yet, for example at the first launch; cloned: it began as a copy of the base; used: it has files
   * and is no copy
   */
  home: 'empty' | 'cloned' | 'used';
  /** Why this host cannot mount the home over the base; null: nothing is known against it. */
  overlayProblem: string | null;
  /** Why the base cannot be copied into the home; null: nothing is known against it. */
  cloneProblem: string | null;
}

/** How a home is opened over its base. keep: the home is a copy already. */
export type BasePlan = { kind: 'overlay' | 'clone' | 'keep' } | { kind: 'refuse'; why: string };

/**
 * Decides how a home is opened over its base. A way that failed is refused with its reason: the caller asks again with
 * this reason. An app never starts without its base. Pure. Source: docs/homes.md, "A base below all homes".
 */
export function decideBase({ provider, home, overlayProblem, cloneProblem }: BaseFacts): BasePlan {
  if (provider === 'volume') return { kind: 'refuse', why: 'a home in an engine volume cannot have a base' };
  // An overlay would hide nothing of the base in a copy, but the copy may be of another version of the base.
  if (home === 'cloned') return { kind: 'keep' };
  if (overlayProblem === null) return { kind: 'overlay' };
  if (home === 'used') {
    const why = 'the home has files already, so the base cannot be copied into it';
    return { kind: 'refuse', why: `${why}; an overlay is not possible either: ${overlayProblem}` };
  }
  if (cloneProblem === null) return { kind: 'clone' };
  return {
    kind: 'refuse',
    why: `neither an overlay (${overlayProblem}) nor a copy (${cloneProblem}) is possible`,
  };
}

/** Directories that a base must not be in or contain. */
export interface OwnDirectories {
  homeRoot: string;
  stateDir: string;
}

/** Why a path cannot be a base; null: nothing in its text is against it. Links are checked when it is opened. Pure. */
export function refuseBasePath(base: string, { homeRoot, stateDir }: OwnDirectories): string | null {
  for (const [name, own] of [
    ['the home root', homeRoot],
    ['the state directory of the agent', stateDir],
  ] as const) {
    if (base === own || isBelow(own, base) || isBelow(base, own)) return `it overlaps with ${name}, ${own}`;
  }
  return null;
}

/** A directory on the path to a base, or the base itself. */
export interface BaseDirectory {
  path: string;
  uid: number;
  gid: number;
  /** Permissions, without the file type. */
  mode: number;
}

/**
 * Why apps could change the base; null: they cannot reach it. Pure.
 *
 * With a root agent, one directory on the path must be closed to all users except root, because the files of a base may
 * be writable for everybody: an app changes only its own layer. Without root, apps run as the agent's user.
 * @param directories from the root directory on; the last one is the base
 * @param agentUid 0: the agent is root
 */
export function refuseOpenBase(directories: readonly BaseDirectory[], agentUid: number): string | null {
  if (agentUid !== 0) {
    const base = directories.at(-1);
    const isOwn = base?.uid === agentUid || ((base?.mode ?? 0) & 0o002) !== 0;
    return isOwn ? 'the user of the agent may change it, and so may every app; give it to root' : null;
  }
  const isClosed = directories.some(
    ({ uid, gid, mode }) => uid === 0 && (mode & 0o001) === 0 && (gid === 0 || (mode & 0o010) === 0),
  );
  return isClosed ? null : 'every user can enter it, so apps could change it; close it with chmod 700';
}

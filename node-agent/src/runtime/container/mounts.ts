import { lstat, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMountable } from './engine/engine-names.ts';
import {
  decideMount,
  type Mount,
  MountRefused,
  type MountRules,
  parseMount,
  whyChangeable,
} from './mount-policy.ts';

/**
 * Resolves the mounts of an app. An app cannot replace the source of an accepted mount before the engine opens it.
 * @throws MountRefused if this host does not allow a mount, or its source is missing
 */
export async function resolveMounts(entries: readonly string[], rules: MountRules): Promise<Mount[]> {
  if (entries.length === 0) return [];
  const real: MountRules = {
    ...rules,
    roots: await Promise.all(
      rules.roots.map(async (root) => ({ ...root, path: await realOrSame(root.path) })),
    ),
    stateDir: await realOrSame(rules.stateDir),
    homeRoot: await realOrSame(rules.homeRoot),
  };
  return Promise.all(
    entries.map(async (entry) => {
      const { source, target } = parseMount(entry);
      const path = await realpath(source).catch(() => null);
      if (path === null) throw new MountRefused(`${source} does not exist`);
      const writable = decideMount(path, real);
      // Checked after resolving, because a link's target may have a name that a mount cannot contain.
      if (!isMountable(path)) throw new MountRefused(`${path} cannot be named in a mount`);
      await refuseChangeable(path, real);
      return { source: path, target, writable };
    }),
  );
}

/**
 * Walks from the root to the source and checks that only the host can change each name on the path.
 * @throws MountRefused when an app could replace the source, or has replaced it since its links were resolved
 */
async function refuseChangeable(source: string, rules: MountRules): Promise<void> {
  const names = [source];
  for (let path = source; path !== '/'; path = dirname(path)) names.unshift(dirname(path));
  let above: { path: string; uid: number; mode: number } | null = null;
  for (const path of names) {
    const found = await lstat(path).catch(() => null);
    if (found === null || found.isSymbolicLink())
      throw new MountRefused(`${source} is being changed: ${path} is ${found ? 'a link' : 'gone'} now`);
    const why = above && whyChangeable({ ...above, nextUid: found.uid }, rules);
    if (above && why !== null) {
      throw new MountRefused(
        `${source}: ${above.path} ${why}, so apps could put a link in its place; mount ${above.path} itself, or take that right away`,
      );
    }
    above = { path, uid: found.uid, mode: found.mode };
  }
}

function realOrSame(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

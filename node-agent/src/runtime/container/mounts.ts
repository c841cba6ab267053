import { realpath } from 'node:fs/promises';
import { isMountable } from './engine/engine-names.ts';
import { decideMount, type Mount, MountRefused, type MountRules, parseMount } from './mount-policy.ts';

/**
 * The mounts of an app, with their sources as they are now.
 * @throws MountRefused for one that this host does not allow, or whose source is missing
 */
export async function resolveMounts(entries: readonly string[], rules: MountRules): Promise<Mount[]> {
  if (entries.length === 0) return [];
  const real: MountRules = {
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
      // The name that a link leads to may be one that no mount can have.
      if (!isMountable(path)) throw new MountRefused(`${path} cannot be named in a mount`);
      return { source: path, target, writable };
    }),
  );
}

function realOrSame(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

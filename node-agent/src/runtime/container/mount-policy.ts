import { isAbsolute, resolve } from 'node:path';
import type { MountRoot } from '../../config/environment.ts';
import { isMountable } from './engine/engine-names.ts';

/** Directories of this host that decide about mounts. */
export interface MountRules {
  roots: readonly MountRoot[];
  stateDir: string;
  homeRoot: string;
}

export interface Mount {
  source: string;
  target: string;
  writable: boolean;
}

/** A mount that this host refuses; the message names the path. */
export class MountRefused extends Error {}

/** `src:dst` or `src:dst:opts` in its parts. Pure. @throws MountRefused */
export function parseMount(entry: string): { source: string; target: string } {
  const [source = '', target = '', ...options] = entry.split(':');
  const parts = [...source.split('/'), ...target.split('/')];
  if (options.length > 1 || parts.includes('..') || ![source, target].every(isMountable))
    throw new MountRefused(`${entry} is no mount of the form /source:/target`);
  if (resolve(target) === '/') throw new MountRefused(`${entry}: nothing can be mounted on /`);
  return { source, target };
}

/**
 * Whether a source with every link resolved may be mounted. Pure.
 * @param real the resolved source; the roots and directories are resolved as well
 * @returns whether an app may write to it
 * @throws MountRefused
 */
export function decideMount(real: string, { roots, stateDir, homeRoot }: MountRules): boolean {
  for (const own of [stateDir, homeRoot]) {
    if (isAtOrBelow(real, own) || isAtOrBelow(own, real))
      throw new MountRefused(`${real} holds files of the agent or of people (${own})`);
  }
  // The longest root that holds it decides about writing.
  const root = roots
    .filter(({ path }) => isAtOrBelow(real, path))
    .sort((a, b) => b.path.length - a.path.length)[0];
  if (root === undefined) throw new MountRefused(`${real} is not below a path of SERVICE_MOUNT_ROOTS`);
  return root.writable;
}

function isAtOrBelow(path: string, folder: string): boolean {
  return isAbsolute(path) && (path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`));
}

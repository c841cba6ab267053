import { resolve, sep } from 'node:path';

/**
 * Whether a home's path is below the root. Only the text is checked; links are checked when the home is opened. Pure.
 */
export function isBelow(root: string, path: string): boolean {
  const clean = resolve(path);
  return clean === path && clean !== root && clean.startsWith(root.endsWith(sep) ? root : root + sep);
}

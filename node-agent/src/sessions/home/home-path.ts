import { basename, dirname, join, resolve, sep } from 'node:path';

/**
 * Whether a home's path is below the root. Only the text is checked; links are checked when the home is opened. Pure.
 */
export function isBelow(root: string, path: string): boolean {
  const clean = resolve(path);
  return clean === path && clean !== root && clean.startsWith(root.endsWith(sep) ? root : root + sep);
}

/**
 * Name of the file that says that a home began as a copy of its base; it contains the base's path. It is next to the
 * home and not inside, because the person and the app can create and delete every file of the home.
 * @param name of the home's directory
 */
export const cloneMarkName = (name: string): string => `.cloned-${name}`;

/** Path of this file. @param home the home's directory */
export const cloneMarkOf = (home: string): string => join(dirname(home), cloneMarkName(basename(home)));

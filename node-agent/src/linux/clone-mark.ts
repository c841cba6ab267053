import { basename, dirname, join } from 'node:path';

/**
 * Name of the file that says that a home began as a copy of its base; it contains the base's path. It is next to the
 * home and not inside, because the person and the app can create and delete every file of the home.
 * @param name of the home's directory
 */
export const cloneMarkName = (name: string): string => `.cloned-${name}`;

/** Path of this file. @param home the home's directory */
export const cloneMarkOf = (home: string): string => join(dirname(home), cloneMarkName(basename(home)));

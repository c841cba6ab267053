/** Access to directories by descriptor. Names are looked up in an open directory, so a link cannot lead elsewhere. */
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, open, opendir } from 'node:fs/promises';

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Path of an entry of an open directory. The entry may be a link, which the caller must not follow. */
export const entryOf = (directory: FileHandle, name: string): string =>
  `/proc/self/fd/${directory.fd}/${name}`;

/** Error code of a failed system call; undefined: another kind of error. */
export const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/**
 * Opens a directory below a root, each part without following a link.
 * @param root may itself be reached through links
 * @param names names of directories, without separators
 * @returns null when a part does not exist
 * @throws ENOTDIR or ELOOP when a part is not a directory
 */
export async function openBelow(root: string, names: readonly string[]): Promise<FileHandle | null> {
  let directory: FileHandle | null = null;
  try {
    directory = await open(root, constants.O_RDONLY | constants.O_DIRECTORY);
    for (const name of names) {
      const next: FileHandle = await open(entryOf(directory, name), DIRECTORY);
      await directory.close();
      directory = next;
    }
    return directory;
  } catch (error) {
    await directory?.close();
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Stats of an entry of an open directory, without following a link; null: the entry does not exist. */
export async function entryStats(directory: FileHandle, name: string): Promise<BigIntStats | null> {
  try {
    return await lstat(entryOf(directory, name), { bigint: true });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Whether a directory has no entries. @throws the system's error */
export async function isEmpty(path: string): Promise<boolean> {
  const directory = await opendir(path);
  try {
    return (await directory.read()) === null;
  } finally {
    await directory.close();
  }
}

/**
 * Syncs a directory, so that changes of its entries survive a power loss. No effect if the file system does not support
 * it.
 */
export async function syncDirectory(directory: FileHandle | string): Promise<void> {
  const handle = typeof directory === 'string' ? await open(directory, DIRECTORY) : directory;
  try {
    await handle.sync();
  } catch (error) {
    if (codeOf(error) !== 'EINVAL') throw error;
  } finally {
    if (typeof directory === 'string') await handle.close();
  }
}

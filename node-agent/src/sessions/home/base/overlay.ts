import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { removeTree } from '../../../runtime/owned-files.ts';
import { runProgram } from '../../../runtime/programs/run-program.ts';
import { codeOf } from '../collection/descriptors.ts';

/** Time limit of mount(8) and umount(8). Chosen, not measured. */
const MOUNT_MS = 10_000;
const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const MOUNT_POINT = /^home-\d+$/;

/** A home that is mounted over its base. */
export interface Overlay {
  /** Directory with the files of both. */
  path: string;
  /**
   * Unmounts it; if files are still open, they stay usable until they are closed. Repeatable.
   * @throws when it stays mounted
   */
  unmount(): Promise<void>;
}

/** Paths next to a home that exist only while it is mounted or copied. */
const workOf = (home: string): string => join(dirname(home), `.overlay-${basename(home)}`);
export const cloneOf = (home: string): string => join(dirname(home), `.clone-${basename(home)}`);

/**
 * Mounts a home over its base: reads come from both, and changes go into the home's own directory.
 *
 * Base, home and work directory are named by descriptors, so that no link and no character of a path leads elsewhere.
 * The kernel writes the layer with the rights of this process, and checks the rights of the app against the owners and
 * modes of the files. Source: Documentation/filesystems/overlayfs.rst of Linux.
 * @param home the home's own directory, without links
 * @param mounts directory for mount points, which only the agent can change
 * @param number distinguishes the homes of a session
 * @returns the reason for which it cannot be mounted, as `why`; then nothing is left behind
 */
export async function mountOverlay(
  base: FileHandle,
  home: string,
  mounts: string,
  number: number,
): Promise<Overlay | { why: string }> {
  const path = join(mounts, `home-${number}`);
  const work = workOf(home);
  const overlay: Overlay = { path, unmount: () => unmountOverlay(path, home) };
  const opened: FileHandle[] = [];
  const openDirectory = async (directory: string) => {
    const handle = await open(directory, DIRECTORY);
    opened.push(handle);
    return handle;
  };
  try {
    await removeTree(work);
    await mkdir(path, { mode: 0o700 });
    await mkdir(work, { mode: 0o700 });
    const upper = await openDirectory(home);
    const named = ({ fd }: FileHandle) => `/proc/${process.pid}/fd/${fd}`;
    // index=off: with the index, a mount of the same home would fail while another session's namespace still holds the
    // last one.
    const layers = `lowerdir=${named(base)},upperdir=${named(upper)},workdir=${named(await openDirectory(work))}`;
    const options = `${layers},index=off,nosuid,nodev`;
    const result = await runProgram('mount', ['-t', 'overlay', '-o', options, 'overlay', path], {
      limitMs: MOUNT_MS,
    });
    if (result.kind === 'ok' && (await isMounted(path))) return overlay;
    await overlay.unmount();
    return { why: result.kind === 'ok' ? 'mount had no effect' : result.why };
  } finally {
    await Promise.all(opened.map((handle) => handle.close()));
  }
}

/** Unmounts what an earlier agent left for a session. @throws when something stays mounted */
export async function unmountLeft(mounts: string, homes: readonly string[]): Promise<void> {
  const names = await readdir(mounts).catch(() => []);
  for (const name of names) if (MOUNT_POINT.test(name)) await unmountOverlay(join(mounts, name), null);
  for (const home of homes) await Promise.all([workOf(home), cloneOf(home)].map(removeIfThere));
}

async function unmountOverlay(path: string, home: string | null): Promise<void> {
  const umount = (options: readonly string[]) =>
    runProgram('umount', ['--no-canonicalize', ...options, '--', path], { limitMs: MOUNT_MS });
  if (await isMounted(path)) {
    const result = await umount([]);
    if (result.kind !== 'ok') await umount(['--lazy']);
    if (await isMounted(path)) throw new Error(`${path} stays mounted`);
  }
  await rmdir(path).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
  });
  if (home !== null) await removeIfThere(workOf(home));
}

/** A mount point has another device than the directory above it. */
async function isMounted(path: string): Promise<boolean> {
  const [own, above] = await Promise.all([
    lstat(path).catch(() => null),
    lstat(dirname(path)).catch(() => null),
  ]);
  return own !== null && above !== null && own.dev !== above.dev;
}

async function removeIfThere(path: string): Promise<void> {
  if ((await lstat(path).catch(() => null)) !== null) await removeTree(path);
}

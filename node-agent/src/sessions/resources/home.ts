import { chmod, chown, lstat, mkdir, realpath } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { type Clock, within } from '@footlight/platform';
import { startChild } from '../../runtime/child.ts';
import { baseEnvironment } from '../../runtime/launch-line.ts';
import type { SessionUser } from '../../runtime/runtime.ts';

/** A home that may not be used as it stands; the message says why and names the path. */
export class HomeError extends Error {}

/**
 * Whether a home's path is one below the root, by its text alone. Links are looked at when it is opened.
 * Pure.
 */
export function isBelow(root: string, path: string): boolean {
  const clean = resolve(path);
  return clean === path && clean !== root && clean.startsWith(root.endsWith(sep) ? root : root + sep);
}

/**
 * Opens a home: makes what is missing below the root and gives the directory to the session's user, mode 0700.
 *
 * Every directory on the way must be a real one. Only the agent can write above the home itself, so a link there
 * is a trick or a mistake, and either is refused. The way is mode 0711: a session's user may pass and see nothing.
 * @throws HomeError for a path that leaves the root or is no directory
 */
export async function openHome(root: string, ref: string, user: SessionUser | null): Promise<void> {
  if (!isBelow(root, ref)) throw new HomeError(`${ref} is not below the home root ${root}`);
  await mkdir(root, { recursive: true, mode: 0o711 });
  const realRoot = await realpath(root);
  const parts = relative(root, ref).split(sep);
  let path = realRoot;
  for (const [index, part] of parts.entries()) {
    path = join(path, part);
    const isHome = index === parts.length - 1;
    await makeDirectory(path, isHome ? 0o700 : 0o711);
  }
  if ((await realpath(path)) !== path) throw new HomeError(`${ref} leads out of the home root`);
  if (user) await giveHome(path, user);
  else await chmod(path, 0o700);
}

/**
 * Takes a home back when its session's last process is gone: root owns the directory, so that the next holder of the
 * uid next cannot enter. Its group keeps the uid, by which the next session of this home gets the same one.
 */
export async function closeHome(ref: string, user: SessionUser | null): Promise<void> {
  if (!user) return;
  const info = await lstat(ref);
  if (!info.isDirectory()) return;
  await chown(ref, 0, user.gid);
  await chmod(ref, 0o700);
}

/** The uid that owns what is inside the home; null when it is not there or nobody had it yet. */
export async function lastOwner(ref: string): Promise<number | null> {
  try {
    const info = await lstat(ref);
    return info.isDirectory() && info.gid !== 0 ? info.gid : null;
  } catch {
    return null;
  }
}

async function makeDirectory(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
    // mkdir takes the umask into account.
    await chmod(path, mode);
    return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const info = await lstat(path);
  if (!info.isDirectory())
    throw new HomeError(`${path} is ${info.isSymbolicLink() ? 'a link' : 'no directory'}`);
}

async function giveHome(path: string, user: SessionUser): Promise<void> {
  const info = await lstat(path);
  if (info.gid !== user.gid) {
    // Somebody else's files of the past: -h changes links themselves and never what they point to.
    const child = await startChild(['chown', '-hR', `${user.uid}:${user.gid}`, '--', path], {
      env: baseEnvironment(process.env),
      cwd: '/',
    });
    const { code } = await child.exited;
    if (code !== 0) throw new HomeError(`${path} could not be given to the session's user`);
  }
  await chown(path, user.uid, user.gid);
  await chmod(path, 0o700);
}

/** Size of a home in bytes; null when it could not be told within limitMs. */
export async function homeBytes(path: string, clock: Clock, limitMs: number): Promise<number | null> {
  let output = '';
  const child = await startChild(['nice', '-n', '19', 'du', '-sxB1', '--', path], {
    env: baseEnvironment(process.env),
    cwd: '/',
    onOutput: (chunk) => {
      if (output.length < 256) output += chunk.toString('latin1');
    },
  });
  const finished = Promise.all([child.exited, child.drained]);
  const exit = await within(
    clock,
    limitMs,
    finished.then(([ended]) => ended),
    null,
  );
  if (exit === null) child.signal('SIGKILL');
  const bytes = Number(/^(\d+)\s/.exec(output)?.[1] ?? Number.NaN);
  return exit?.code === 0 && Number.isSafeInteger(bytes) ? bytes : null;
}

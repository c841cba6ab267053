import { lstatSync, readFileSync } from 'node:fs';
import type { Clock } from '@footlight/platform';
import { baseEnvironment } from './confinement/command-line.ts';
import { startChild } from './programs/child.ts';

/** World-writable directories of a Linux host. */
export const OPEN_TO_ALL: readonly string[] = ['/dev/shm', '/dev/mqueue', '/tmp', '/var/tmp', '/run/lock'];
/** Largest size of the error output of `find`. */
const MAX_OUTPUT_BYTES = 64 * 1024;
/**
 * Harmless errors of `find`: an entry that other processes removed, or that the user cannot reach; then the next
 * session's user with this uid cannot reach it either. A search that ends early, or a program that cannot be started,
 * prints another line.
 */
const HARMLESS = /^find: '\/.*': (No such file or directory|Permission denied)$/;
/**
 * Number of attempts. rm(1) fails for a directory that is replaced by a link while `rm` runs. An attacker who keeps
 * swapping directory and link makes some attempts fail, but not all.
 */
const REMOVAL_ATTEMPTS = 25;
/**
 * System V objects outlive their processes if the session has no IPC namespace. Each row contains the table in
 * /proc/sysvipc, the table's id column and ipcrm's option.
 */
const SYSTEM_V = [
  { table: 'shm', idColumn: 'shmid', option: '-m' },
  { table: 'sem', idColumn: 'semid', option: '-s' },
  { table: 'msg', idColumn: 'msqid', option: '-q' },
] as const;

/**
 * Removes objects that a session's user left outside the session's directories: System V objects, and files in the
 * given directories. Otherwise the next session with this uid could read them. Call it when no process of the user is
 * left.
 *
 * find(1) runs as this user, so it cannot remove files of other users, even if apps change the directories at the same
 * time. It does not search directories that the user cannot open, or can open only through a group of the session.
 * @param keep paths that are kept: the session's homes
 * @param places directories to search; links and missing directories are skipped
 * @param limitSecs time limit of the search
 * @returns whether the search was complete; otherwise the uid must not be reused
 */
export async function removeOwnedFiles(
  uid: number,
  keep: readonly string[],
  places: readonly string[],
  limitSecs: number,
  clock: Clock,
): Promise<boolean> {
  const ids = SYSTEM_V.flatMap(({ table, idColumn, option }) =>
    ownedIds(uid, readFileSync(`/proc/sysvipc/${table}`, 'utf8'), idColumn).flatMap((id) => [option, id]),
  );
  if (ids.length > 0) await run(['ipcrm', ...ids]);
  const searches = searchesOf(places.flatMap(entryAt), keep.flatMap(entryAt));
  const results = await Promise.all(
    searches.map(({ places: searched, kept }) =>
      search(
        [
          ...['timeout', '--kill-after=1', String(limitSecs), 'nice', '-n', '10'],
          ...['setpriv', '--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--no-new-privs'],
          ...['--', 'find', ...searched, '-xdev', '-ignore_readdir_race'],
          ...kept.flatMap((inode) => ['-inum', String(inode), '-prune', '-o']),
          // Restores the permissions, because an app may have removed its own access to a directory. -execdir runs in
          // the entry's directory, so a link cannot lead elsewhere.
          ...['-user', String(uid), '(', '-type', 'd', '-execdir', 'chmod', '-R', 'u+rwX', '--', '{}', ';'],
          ...['-o', '-true', ')'],
          ...['-execdir', 'rm', '-rf', '--one-file-system', '--', '{}', '+', '-prune', '-o'],
          ...['-type', 'd', '(', '!', '-readable', '-o', '!', '-executable', ')', '-prune'],
        ],
        clock,
      ),
    ),
  );
  return results.every(isComplete);
}

/** Checks the lines, because -ignore_readdir_race does not cover all removals by other processes during a search. */
function isComplete({ code, output }: { code: number | null; output: string }): boolean {
  const lines = output.trim().split('\n');
  return (
    code === 0 ||
    (code === 1 && output.length < MAX_OUTPUT_BYTES && lines.every((line) => HARMLESS.test(line)))
  );
}

interface Entry {
  path: string;
  device: number;
  inode: number;
  isDirectory: boolean;
}

function entryAt(path: string): Entry[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  return [{ path, device: stats.dev, inode: stats.ino, isDirectory: stats.isDirectory() }];
}

/** One search per device, because kept paths are recognised by their inode. */
function searchesOf(
  places: readonly Entry[],
  keep: readonly Entry[],
): { places: string[]; kept: number[] }[] {
  const directories = places.filter(({ isDirectory }) => isDirectory);
  return [...new Set(directories.map(({ device }) => device))].map((device) => ({
    places: directories.filter((entry) => entry.device === device).map(({ path }) => path),
    kept: keep.filter((entry) => entry.device === device).map(({ inode }) => inode),
  }));
}

/**
 * Removes a file or directory tree.
 *
 * rm(1) uses descriptors and never follows a link, even if a directory is replaced by a link while `rm` runs. This
 * matters because sessions may give each other access to their directories, and could otherwise misuse the agent's
 * rights.
 * @throws when the path still exists after all attempts
 */
export async function removeTree(path: string): Promise<void> {
  for (let attempt = 0; attempt < REMOVAL_ATTEMPTS; attempt++) {
    await run(['rm', '-rf', '--one-file-system', '--', path]);
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
  }
  throw new Error(`${path} could not be removed`);
}

/** Ids of this uid's objects in a table of /proc/sysvipc. */
export function ownedIds(uid: number, table: string, idColumnName: string): string[] {
  const [header = '', ...rows] = table.trim().split('\n');
  const columns = header.trim().split(/\s+/);
  const idColumn = columns.indexOf(idColumnName);
  const uidColumn = columns.indexOf('uid');
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter((fields) => Number(fields[uidColumn]) === uid)
    .map((fields) => fields[idColumn] ?? '')
    .filter((id) => /^\d+$/.test(id));
}

const settings = { env: { ...baseEnvironment(process.env), LC_ALL: 'C' }, cwd: '/' };

/** @returns the exit status; null: a signal ended the program */
async function run(argv: readonly string[]): Promise<number | null> {
  const child = await startChild(argv, settings);
  return (await child.exited).code;
}

/** @returns code: the exit status, or null after a signal; output: the beginning of the output */
async function search(
  argv: readonly string[],
  clock: Clock,
): Promise<{ code: number | null; output: string }> {
  let output = '';
  const onOutput = (chunk: Buffer) => {
    if (output.length < MAX_OUTPUT_BYTES) output += chunk.toString('latin1');
  };
  const child = await startChild(argv, { ...settings, clock, onOutput });
  const [{ code }] = await Promise.all([child.exited, child.drained]);
  return { code, output };
}

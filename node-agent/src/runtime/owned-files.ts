import { lstatSync, readFileSync } from 'node:fs';
import type { Clock } from '@footlight/platform';
import { baseEnvironment } from './confinement/command-line.ts';
import { startChild } from './programs/child.ts';

/** World-writable directories of a Linux host. */
export const OPEN_TO_ALL: readonly string[] = ['/dev/shm', '/dev/mqueue', '/tmp', '/var/tmp', '/run/lock'];
/** Of the errors of a search. */
const MAX_OUTPUT_BYTES = 64 * 1024;
/**
 * An entry that others removed, or that the user cannot reach, nor can the next one with its uid. A search that ends
 * early has another line, and so has a program that cannot be started.
 */
const HARMLESS = /^find: '\/.*': (No such file or directory|Permission denied)$/;
/**
 * rm(1) fails for a directory that is replaced by a link during its work; an attacker who keeps swapping them wins
 * some attempts, not all.
 */
const REMOVAL_ATTEMPTS = 25;
/**
 * System V objects outlive their processes if the session has no IPC namespace: table of /proc/sysvipc, its id
 * column, ipcrm's option.
 */
const SYSTEM_V = [
  { table: 'shm', idColumn: 'shmid', option: '-m' },
  { table: 'sem', idColumn: 'semid', option: '-s' },
  { table: 'msg', idColumn: 'msqid', option: '-q' },
] as const;

/**
 * Removes what a session's user left outside the session's directories: System V objects, and files in the given
 * directories. Otherwise the next session with this uid could read them. Call it when the user has no process left.
 *
 * find(1) does this as that user, so it can remove no file of others, whatever apps do with the directories meanwhile.
 * It does not search directories that the user cannot open, nor those that only a group of the session may open.
 * @param keep paths that are kept: the session's homes
 * @param places directories to search; links and missing ones are skipped
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
          // An app may have closed a directory to itself. -execdir runs in the entry's directory, so no link leads elsewhere.
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

/** -ignore_readdir_race does not cover all that others remove during a search. */
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

/** One search for each device, because kept paths are recognised by their inode. */
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
 * rm(1) walks by descriptors and follows no link, even if a directory is replaced by one: sessions may open their
 * directories to each other, and the agent's rights must not be redirected.
 * @throws when it still exists after all attempts
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

/** @returns the exit status; null after a signal */
async function run(argv: readonly string[]): Promise<number | null> {
  const child = await startChild(argv, settings);
  return (await child.exited).code;
}

/** @returns code: null after a signal; output: the beginning of it */
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

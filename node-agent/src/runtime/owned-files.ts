import { lstatSync, readFileSync } from 'node:fs';
import { startChild } from './child.ts';
import { baseEnvironment } from './command-line.ts';

/** World-writable directories of a Linux host. */
const OPEN_TO_ALL = ['/dev/shm', '/dev/mqueue', '/tmp', '/var/tmp', '/run/lock'];
/**
 * rm(1) fails for a directory that is replaced by a link during its work; an attacker who keeps swapping them wins
 * some attempts, not all.
 */
const REMOVAL_ATTEMPTS = 25;
/**
 * find(1) fails for a directory that vanishes during its work, with -ignore_readdir_race too: one search of ten beside
 * a program that makes and removes 360 directories at a time.
 */
const SEARCH_ATTEMPTS = 5;

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
 * Removes what a session's user left outside the session's directories: System V objects, and files in world-writable
 * directories or in directories that another session's user opened. Otherwise the next session with this uid could
 * read them. Call it when the user has no process left.
 *
 * find(1) and rm(1) walk by descriptors, so a directory that is replaced by a link cannot redirect them; and millions
 * of files block those programs, not this process.
 * @param keep paths that are kept: the session's homes
 * @param others directories of other sessions
 * @param limitSecs time limit of each attempt
 * @returns whether the search was complete; otherwise the uid must not be reused
 */
export async function removeOwnedFiles(
  uid: number,
  keep: readonly string[],
  others: readonly string[],
  limitSecs: number,
): Promise<boolean> {
  const ids = SYSTEM_V.flatMap(({ table, idColumn, option }) =>
    ownedIds(uid, readFileSync(`/proc/sysvipc/${table}`, 'utf8'), idColumn).flatMap((id) => [option, id]),
  );
  if (ids.length > 0) await run(['ipcrm', ...ids]);
  const places = [...OPEN_TO_ALL, ...others];
  const there = places.filter((place) => lstatSync(place, { throwIfNoEntry: false })?.isDirectory());
  if (there.length === 0) return true;
  const kept = keep.flatMap((path) => ['-path', literal(path), '-prune', '-o']);
  const search = [
    ...['timeout', '--kill-after=1', String(limitSecs), 'nice', '-n', '10'],
    ...['find', ...there, '-ignore_readdir_race', '-xdev', ...kept, '-uid', String(uid), '-prune'],
    ...['-execdir', 'rm', '-rf', '--one-file-system', '--', '{}', '+'],
  ];
  let code: number | null = 1;
  for (let attempt = 0; attempt < SEARCH_ATTEMPTS && code === 1; attempt++) code = await run(search);
  return code === 0;
}

/** Escapes a path as a literal pattern of find(1). */
function literal(path: string): string {
  return path.replace(/[\\*?[\]]/g, '\\$&');
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

/** @returns the exit status; null after a signal */
async function run(argv: readonly string[]): Promise<number | null> {
  const child = await startChild(argv, { env: baseEnvironment(process.env), cwd: '/' });
  return (await child.exited).code;
}

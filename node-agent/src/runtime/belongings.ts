import { lstatSync, readFileSync } from 'node:fs';
import { startChild } from './child.ts';
import { baseEnvironment } from './launch-line.ts';

/** Directories of a Linux host in which any user may leave files. */
const OPEN_TO_ALL = ['/dev/shm', '/dev/mqueue', '/tmp', '/var/tmp', '/run/lock'];
/** rm(1) gives a directory up that becomes a link under its hands; an attacker who swaps them all the time wins some rounds, not all. */
const REMOVAL_ATTEMPTS = 25;

/**
 * System V objects, which outlive the processes that made them where the session has no IPC namespace of its own: table of /proc/sysvipc, its id column, ipcrm's option.
 */
const SYSTEM_V = [
  { table: 'shm', idColumn: 'shmid', option: '-m' },
  { table: 'sem', idColumn: 'semid', option: '-s' },
  { table: 'msg', idColumn: 'msqid', option: '-q' },
] as const;

/**
 * Removes what a session's user left outside the session's directories: System V objects, and files where anybody
 * may put some, or where another session's user opened a directory. Otherwise the next session with this uid could read
 * them. Call it when the user has no process any more.
 *
 * find(1) and rm(1) walk by descriptors, so no directory that is swapped for a link leads them elsewhere; and an app that
 * left millions of files keeps them busy, not this process.
 * @param keep paths that stay whatever they lie in: the session's homes
 * @param others directories of other sessions
 * @param limitSecs when the search is given up
 * @returns whether everything was searched; otherwise the uid must not be given out again
 */
export async function removeBelongings(
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
  const code = await run([
    ...['timeout', '--kill-after=1', String(limitSecs), 'nice', '-n', '10'],
    // What goes meanwhile is no failure.
    ...['find', ...there, '-ignore_readdir_race', '-xdev', ...kept, '-uid', String(uid), '-prune'],
    ...['-execdir', 'rm', '-rf', '--one-file-system', '--', '{}', '+'],
  ]);
  return code === 0;
}

/** A path as a pattern of find(1) that matches nothing else. */
function literal(path: string): string {
  return path.replace(/[\\*?[\]]/g, '\\$&');
}

/**
 * Removes a directory and everything in it, or a file.
 *
 * rm(1) walks by descriptors and follows no link, even where a directory becomes one while it works: sessions may
 * open their directories to one another, and the agent's rights must not be led out of them.
 * @throws when it is still there after all attempts
 */
export async function removeTree(path: string): Promise<void> {
  for (let attempt = 0; attempt < REMOVAL_ATTEMPTS; attempt++) {
    await run(['rm', '-rf', '--one-file-system', '--', path]);
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
  }
  throw new Error(`${path} could not be removed`);
}

/** Ids of the objects that this uid owns, out of the text of a table of /proc/sysvipc. Pure. */
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

/** @returns the exit status; null when a signal ended it */
async function run(argv: readonly string[]): Promise<number | null> {
  const child = await startChild(argv, { env: baseEnvironment(process.env), cwd: '/' });
  return (await child.exited).code;
}

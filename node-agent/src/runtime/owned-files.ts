import { lstatSync, readFileSync } from 'node:fs';
import type { Clock } from '@footlight/platform';
import { startChild } from './child.ts';
import { baseEnvironment } from './confinement/command-line.ts';

/** World-writable directories of a Linux host. */
const OPEN_TO_ALL = ['/dev/shm', '/dev/mqueue', '/tmp', '/var/tmp', '/run/lock'];
/**
 * rm(1) fails for a directory that is replaced by a link during its work; an attacker who keeps swapping them wins
 * some attempts, not all.
 */
const REMOVAL_ATTEMPTS = 25;
/** A second of searching beside a program that makes and removes 360 directories at a time gives about 3 KB. */
const MAX_COMPLAINTS_BYTES = 1024 * 1024;

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
 * @param limitSecs time limit of the search
 * @param clock paces the reading of its output
 * @returns whether the search was complete; otherwise the uid must not be reused
 */
export async function removeOwnedFiles(
  uid: number,
  keep: readonly string[],
  others: readonly string[],
  limitSecs: number,
  clock: Pick<Clock, 'setTimeout'>,
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
  let complaints = '';
  const child = await startChild(search, {
    // In this locale a complaint is one line, whatever a file's name is.
    env: { ...baseEnvironment(process.env), LC_ALL: 'C' },
    cwd: '/',
    clock,
    onOutput: (chunk) => {
      if (complaints.length < MAX_COMPLAINTS_BYTES) complaints += chunk.toString('latin1');
    },
  });
  const { code } = await child.exited;
  await child.drained;
  return code === 0 || (code === 1 && saysOnlyThatFilesVanished(complaints));
}

/**
 * find(1) complains about a directory that vanishes during its work, with -ignore_readdir_race too, ends with status 1,
 * and has searched everything else.
 */
export function saysOnlyThatFilesVanished(complaints: string): boolean {
  if (complaints === '' || complaints.length >= MAX_COMPLAINTS_BYTES) return false;
  return complaints
    .trimEnd()
    .split('\n')
    .every((line) => /^(find|rm): .*: No such file or directory$/.test(line));
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

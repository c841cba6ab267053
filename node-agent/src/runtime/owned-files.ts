import { lstatSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { baseEnvironment } from './confinement/command-line.ts';
import { startChild } from './programs/child.ts';

/** World-writable directories of a Linux host. */
const OPEN_TO_ALL: readonly string[] = ['/dev/shm', '/dev/mqueue', '/tmp', '/var/tmp', '/run/lock'];
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
 * Removes what a session's user left outside the session's directories: System V objects, and files in world-writable
 * directories or in directories that another session's user opened. Otherwise the next session with this uid could
 * read them. Call it when the user has no process left.
 *
 * A separate program does this (remove-owned.pl), so millions of files do not block this process. Apps that change the
 * directories meanwhile can neither redirect it nor stop its search.
 * @param keep paths that are kept: the session's homes
 * @param others directories of other sessions
 * @param limitSecs time limit of the search
 * @param openToAll directories of this host that every user may write to
 * @returns whether the search was complete; otherwise the uid must not be reused
 */
export async function removeOwnedFiles(
  uid: number,
  keep: readonly string[],
  others: readonly string[],
  limitSecs: number,
  openToAll: readonly string[] = OPEN_TO_ALL,
): Promise<boolean> {
  const ids = SYSTEM_V.flatMap(({ table, idColumn, option }) =>
    ownedIds(uid, readFileSync(`/proc/sysvipc/${table}`, 'utf8'), idColumn).flatMap((id) => [option, id]),
  );
  if (ids.length > 0) await run(['ipcrm', ...ids]);
  const script = fileURLToPath(new URL('remove-owned.pl', import.meta.url));
  const code = await run([
    ...['timeout', '--kill-after=1', String(limitSecs), 'nice', '-n', '10'],
    ...['perl', script, String(uid), ...keep, '--', ...openToAll, ...others],
  ]);
  return code === 0;
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

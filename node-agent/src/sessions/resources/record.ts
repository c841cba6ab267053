import { constants } from 'node:fs';
import { chmod, chown, mkdir, open, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { removeTree } from '../../runtime/owned-files.ts';
import type { SessionDirs, SessionUser } from '../../runtime/runtime.ts';

const recordSchema = z.object({
  session_id: z.string(),
  uid: z.number().int().nullable(),
  home: z.string().nullable(),
  /** The home of a swap's new app; missing: no swap with another home is running. */
  next_home: z.string().optional(),
  display: z
    .object({
      number: z.number().int(),
      pid: z.number().int(),
      socket: z.string().nullable().default(null),
    })
    .nullable(),
});

/** Resources of a session, stored in a file so that an agent that starts after a crash can remove them. */
export type SessionRecord = z.infer<typeof recordSchema>;

export function homesOf({ home, next_home }: SessionRecord): string[] {
  return [home, next_home].filter((path) => typeof path === 'string');
}

export function sessionsDir(stateDir: string): string {
  return join(stateDir, 'sessions');
}

/**
 * The session id in 22 characters instead of 36. It must be short, because a socket's path may have only 107 bytes, and
 * the state directory of an ordinary user already needs many of them.
 */
function directoryName(sessionId: string): string {
  return Buffer.from(sessionId.replaceAll('-', ''), 'hex').toString('base64url');
}

function sessionIdOf(directory: string): string {
  const hex = Buffer.from(directory, 'base64url').toString('hex').padStart(32, '0');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}

/**
 * Longest path of a socket: struct sockaddr_un has 108 bytes for the path, and the last one is zero. Source: unix(7).
 */
const SOCKET_PATH_BYTES = 107;
const LONGEST_SOCKET = join(
  'sessions',
  directoryName('00000000-0000-4000-8000-000000000000'),
  'scratch',
  'run',
  'pulse.sock',
);

/** Length in bytes of the longest state directory with which the sockets below it can be bound (unix(7), sun_path). */
export const STATE_DIR_BYTES = SOCKET_PATH_BYTES - LONGEST_SOCKET.length - 1;

export function sessionDirs(stateDir: string, sessionId: string): SessionDirs {
  const root = join(sessionsDir(stateDir), directoryName(sessionId));
  const scratch = join(root, 'scratch');
  return {
    root,
    scratch,
    home: join(scratch, 'home'),
    tmp: join(scratch, 'tmp'),
    run: join(scratch, 'run'),
    xauthority: join(scratch, 'xauthority'),
    mounts: join(root, 'mounts'),
    console: join(root, 'console'),
  };
}

/**
 * Creates a session's directories. The session's user may traverse the outer directories and owns the inner ones. Other
 * sessions cannot traverse the outer directories, so a session cannot give them access to its inner directories.
 */
export async function makeSessionDirs(dirs: SessionDirs, user: SessionUser | null): Promise<void> {
  await mkdir(dirs.root, { recursive: true, mode: 0o711 });
  if (user) {
    await chown(dirs.root, process.getuid?.() ?? 0, user.gid);
    await chmod(dirs.root, 0o710);
  }
  await Promise.all([mkdir(dirs.mounts, { mode: 0o755 }), mkdir(dirs.scratch, { mode: 0o700 })]);
  const inner = [dirs.home, dirs.tmp, dirs.run];
  await Promise.all(inner.map((dir) => mkdir(dir, { mode: 0o700 })));
  if (user) await Promise.all([dirs.scratch, ...inner].map((dir) => chown(dir, user.uid, user.gid)));
}

/**
 * Creates an empty home in the scratch directory for one app of a session. The scratch directory belongs to the
 * session's user, and another app may already run. Therefore the new directory is opened first, and then its owner is
 * checked: only the agent can have created a directory that belongs to the agent's user.
 * @throws when another file or directory has this path
 */
export async function makeScratchHome(path: string, user: SessionUser | null): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  if (!user) return;
  const handle = await open(path, constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    if ((await handle.stat()).uid !== process.getuid?.()) throw new Error(`${path} was replaced`);
    await handle.chown(user.uid, user.gid);
  } finally {
    await handle.close();
  }
}

/**
 * @param keepRecord whether to keep the record, because files of the session's user may be left elsewhere and the next
 * agent must find them
 */
export async function removeSessionDirs(dirs: SessionDirs, keepRecord = false): Promise<void> {
  const { root, scratch, mounts, console } = dirs;
  await Promise.all((keepRecord ? [scratch, mounts, console] : [root]).map(removeTree));
}

/**
 * Replaces the record atomically. With an incomplete record, the home would stay open to the next session with the same
 * uid.
 */
export async function writeRecord(dirs: SessionDirs, record: SessionRecord): Promise<void> {
  const file = join(dirs.root, 'record.json');
  await writeFile(`${file}.new`, JSON.stringify(record), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** Sessions that an earlier agent left; `record` is null if it was not written. */
export async function leftSessions(
  stateDir: string,
): Promise<{ sessionId: string; record: SessionRecord | null }[]> {
  const names = await readdir(sessionsDir(stateDir)).catch(() => []);
  return Promise.all(
    names.map(async (name) => {
      const file = join(sessionsDir(stateDir), name, 'record.json');
      const parsed = recordSchema.safeParse(
        await readFile(file, 'utf8')
          .then((text): unknown => JSON.parse(text))
          .catch(() => null),
      );
      return { sessionId: sessionIdOf(name), record: parsed.success ? parsed.data : null };
    }),
  );
}

import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';

export type SharedFile =
  | { kind: 'read'; bytes: Buffer }
  | { kind: 'missing' }
  /** A link, a directory, a device, a pipe, too large, or closed to this process. */
  | { kind: 'unfit' };

/**
 * Reads a small file that lies where others may put files: /tmp, and directories of sessions.
 *
 * It follows no link, and opens nothing but regular files: opening a pipe waits for a writer, and opening a device may
 * do something. Every step runs off the event loop, so a file system that hangs does not hang this process.
 */
export async function readSharedFile(path: string, maxBytes: number): Promise<SharedFile> {
  const info = await lstat(path).catch((error: NodeJS.ErrnoException) =>
    error.code === 'ENOENT' ? ('missing' as const) : ('unfit' as const),
  );
  if (info === 'missing') return { kind: 'missing' };
  if (info === 'unfit' || !info.isFile() || info.size > maxBytes) return { kind: 'unfit' };
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
  const file = await open(path, flags).catch(() => null);
  if (file === null) return { kind: 'unfit' };
  try {
    // What the path leads to may be another file by now.
    const opened = await file.stat();
    if (!opened.isFile() || opened.size > maxBytes) return { kind: 'unfit' };
    const buffer = Buffer.alloc(maxBytes + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    if (bytesRead > maxBytes) return { kind: 'unfit' };
    return { kind: 'read', bytes: buffer.subarray(0, bytesRead) };
  } catch {
    return { kind: 'unfit' };
  } finally {
    await file.close();
  }
}

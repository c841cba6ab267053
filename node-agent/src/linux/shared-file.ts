import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';

export type SharedFile =
  | { kind: 'read'; bytes: Buffer }
  | { kind: 'missing' }
  /** The path is a link, directory, device or pipe, or the file is too large or unreadable. */
  | { kind: 'unfit' };

/**
 * Reads a small file in a directory where other users may write, for example /tmp or a session's directory.
 *
 * Does not follow links and opens only regular files, because opening a pipe waits for a writer, and opening a device
 * may have an effect. Does not block the event loop if the file system hangs.
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
    // Checked again, because the path may lead to another file now.
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

import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

/**
 * Writes one line that only the process owner can read, in a directory with mode 0700. @throws when the file cannot
 * be written
 */
export async function writeSecretFile(file: string, secret: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  // Never write into an existing file: another process may own the file, have it open, or have placed a link there.
  await rm(file, { force: true });
  await writeFile(file, `${secret}\n`, { mode: 0o600, flag: 'wx' });
}

import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Writes one line that only the owner of the process reads, in a folder that nobody else enters. @throws when it cannot */
export async function writeSecretFile(file: string, secret: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  // Never into what is there already: somebody may hold it open, own it, or have put a link in its place.
  await rm(file, { force: true });
  await writeFile(file, `${secret}\n`, { mode: 0o600, flag: 'wx' });
}

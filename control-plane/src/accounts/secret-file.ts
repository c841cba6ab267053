import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Writes one line that only the owner of the process reads, in a folder that only he enters. @throws when it cannot */
export async function writeSecretFile(file: string, secret: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(file, `${secret}\n`, { mode: 0o600 });
  // The mode above applies to new files only.
  await chmod(file, 0o600);
}

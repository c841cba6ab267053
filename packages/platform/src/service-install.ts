import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { parseEnvironment } from './env-file.ts';
import { errorText } from './error-text.ts';

/**
 * Time limit of `systemctl restart`, which waits until the service is ready. Longer than TimeoutStartSec of both units:
 * a control plane migrates its database at the start, for up to 600 s.
 */
const SYSTEMCTL_LIMIT_MS = 660_000;

/** Whether systemd is process 1 of this machine. Source: sd_booted(3). */
export function isSystemdRunning(): boolean {
  return existsSync('/run/systemd/system');
}

/** Environment that an earlier installation stored; empty: there was no installation. */
export async function readStoredEnvironment(environmentFile: string): Promise<Record<string, string>> {
  return existsSync(environmentFile) ? parseEnvironment(await readFile(environmentFile, 'utf8')) : {};
}

/**
 * Writes a file atomically, because an incomplete unit would prevent the service's start.
 * @param mode permission bits
 */
export async function writeWhole(file: string, text: string, mode: number): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const partial = `${file}.partial`;
  await writeFile(partial, text, { mode });
  await chmod(partial, mode);
  await rename(partial, file);
}

/**
 * Reloads the units, starts the service and enables it.
 * @returns the exit code: 0 the service runs, or this machine has no service manager; 1 the service does not start
 */
export async function startService(service: string, print: (line: string) => void): Promise<number> {
  if (!isSystemdRunning()) {
    print('Process 1 of this machine is not systemd, so nothing starts the service here.');
    return 0;
  }
  for (const words of [['daemon-reload'], ['enable', service], ['restart', service]]) {
    try {
      await promisify(execFile)('systemctl', words, { timeout: SYSTEMCTL_LIMIT_MS });
    } catch (error) {
      print(`systemctl ${words.join(' ')}: ${errorText(error)}`);
      print(`  → journalctl -u ${service} -n 30`);
      return 1;
    }
  }
  print(`${service} is running, and starts with this machine.`);
  return 0;
}

import { readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { appProfile, profileSchema } from './app-filter.ts';

/**
 * Usual paths of podman's system call filter; podman uses the first file that exists. Source: containers.conf(5),
 * seccomp_profile.
 */
const PODMAN_PROFILES = ['/etc/containers/seccomp.json', '/usr/share/containers/seccomp.json'];

/** Files with the system call filters of apps, for an engine on this machine. */
export interface AppFilters {
  /**
   * closed: path of the filter that forbids user namespaces. The other path is the filter for apps with their own
   * sandbox.
   */
  closed: string;
  ownSandbox: string;
}

/**
 * Writes the system call filters that podman applies to apps.
 * @returns null: podman's own filter was not found in its usual paths, or cannot be read
 * @throws when the files cannot be written
 */
export async function writeAppFilters(stateDir: string): Promise<AppFilters | null> {
  const profile = podmanProfile();
  if (profile === null) return null;
  const folder = join(stateDir, 'filters');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const write = async (name: string, userNamespaces: boolean) => {
    const file = join(folder, name);
    // Written to a new file and renamed, because podman may read the filter at any time.
    await writeFile(`${file}.new`, JSON.stringify(appProfile(profile, userNamespaces)), { mode: 0o600 });
    await rename(`${file}.new`, file);
    return file;
  };
  return { closed: await write('app.json', false), ownSandbox: await write('own-sandbox.json', true) };
}

function podmanProfile(): unknown {
  for (const path of PODMAN_PROFILES) {
    try {
      return profileSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
    } catch {
      // The file does not exist, so the next path is tried.
    }
  }
  return null;
}

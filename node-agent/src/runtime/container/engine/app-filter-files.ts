import { readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { appProfile, profileSchema } from './app-filter.ts';

/**
 * Usual places of podman's system call filter; podman uses the first one that exists. Source: containers.conf(5),
 * seccomp_profile.
 */
const PODMAN_PROFILES = ['/etc/containers/seccomp.json', '/usr/share/containers/seccomp.json'];

/** Files with the filters of apps, for an engine on this machine. */
export interface AppFilters {
  /** Paths of two filters: for apps without user namespaces, and for apps that have their own sandbox. */
  closed: string;
  ownSandbox: string;
}

/**
 * Writes the filters that podman applies to apps.
 * @returns null: podman's own filter is in none of its usual places, or cannot be read
 * @throws when they cannot be written
 */
export async function writeAppFilters(stateDir: string): Promise<AppFilters | null> {
  const profile = podmanProfile();
  if (profile === null) return null;
  const folder = join(stateDir, 'filters');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const write = async (name: string, userNamespaces: boolean) => {
    const file = join(folder, name);
    // Podman may read it at any time.
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
      // Not there: try the next place.
    }
  }
  return null;
}

import { chmodSync, chownSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the kernel shows virtual input devices, and where their nodes are. */
export interface DevicePlaces {
  sysfs: string;
  nodes: string;
}

const PLACES: DevicePlaces = { sysfs: '/sys/devices/virtual/input', nodes: '/dev/input' };
/** udev gives new nodes to a group once it has heard of them; by then it has. */
export const GRANT_AGAIN_MS = 1_000;

/**
 * Lets a session's user, and nobody else, open the nodes of an input device that its media worker made. The worker
 * has no rights over nodes, and its word is not taken for whose device it is: the device's own place of attachment
 * must name the session.
 * @param sysname name of the device in sysfs, as the worker told it
 * @returns the nodes that were given; none for a device that is not the session's
 */
export function grantDevice(
  sysname: string,
  sessionId: string,
  uid: number,
  places: DevicePlaces = PLACES,
): string[] {
  if (!/^input\d{1,7}$/.test(sysname)) return [];
  const device = join(places.sysfs, sysname);
  try {
    if (!readFileSync(join(device, 'phys'), 'utf8').startsWith(`footlight/${sessionId}/`)) return [];
    return readdirSync(device)
      .filter((name) => /^(event|js)\d{1,7}$/.test(name))
      .map((name) => join(places.nodes, name))
      .filter((node) => existsSync(node))
      .map((node) => {
        chownSync(node, uid, 0);
        chmodSync(node, 0o600);
        return node;
      });
  } catch {
    // It went away meanwhile.
    return [];
  }
}

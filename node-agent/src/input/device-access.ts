import { chmodSync, chownSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Directories of virtual input devices in sysfs, and of their device nodes. */
export interface DevicePlaces {
  sysfs: string;
  nodes: string;
}

const PLACES: DevicePlaces = { sysfs: '/sys/devices/virtual/input', nodes: '/dev/input' };
/** Delay before access is granted a second time: udev changes the group of new nodes shortly after their creation. */
export const GRANT_AGAIN_MS = 1_000;

/**
 * Lets only a session's user open the nodes of an input device that the session's media worker created. The worker has
 * no rights to change nodes and is not trusted, so the physical path of the device must contain the session's id.
 * @param sysname name of the device in sysfs, from the worker
 * @returns the granted nodes; empty if the device belongs to another session
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
    // The device was removed in the meantime.
    return [];
  }
}

import { confineProcess } from '@footlight/gst/seccomp';
import { appFilter } from './seccomp.ts';

/** User and group `nobody` of Linux, which own no files. */
const NOBODY = 65_534;

/**
 * Takes the agent's rights from this process forever, because strangers may exploit it: the process becomes the user
 * `nobody` if it is root, and can neither gain rights nor make user namespaces.
 * @throws when the kernel refuses
 */
export function dropRights(): void {
  if (process.getuid?.() === 0) {
    process.setgroups?.([]);
    process.setgid?.(NOBODY);
    process.setuid?.(NOBODY);
  }
  confineProcess(appFilter(false));
}

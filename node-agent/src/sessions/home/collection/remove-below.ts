import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@footlight/platform';
import { baseEnvironment } from '../../../runtime/confinement/command-line.ts';
import { type Child, startChild } from '../../../runtime/programs/child.ts';
import { openBelow } from './descriptors.ts';
import { mountPoints, mountWithin } from './mounts.ts';

/** Time limit for removing one home; the next run removes the rest. Chosen, not measured. */
const REMOVAL_MS = 3_600_000;
/** Largest size of the list of paths that could not be removed, in bytes. */
const MAX_OUTPUT_BYTES = 2_048;

export interface Removal {
  stop(): void;
  /** null: everything was removed. Otherwise the first paths that could not be removed, with reasons. */
  readonly left: Promise<string | null>;
}

/**
 * Removes a directory tree below a root with rm(1), which does not follow links. A separate program is used, so that
 * millions of files do not block this process; rm(1) ends with this process. A tree that contains a mount point is not
 * changed, because rm(1) would empty a directory that is mounted from the same file system.
 * @param names directory names from the root on; the last one is removed
 */
export async function removeBelow(root: string, names: readonly string[], clock: Clock): Promise<Removal> {
  const parent = await openBelow(root, names.slice(0, -1));
  if (parent === null) return { stop: () => undefined, left: Promise.resolve(null) };
  const entry = `./${names.at(-1)}`;
  let running: Child | null = null;
  let isStopped = false;
  const run = async (argv: readonly string[]): Promise<string | null> => {
    let output = '';
    running = await startChild(['nice', '-n', '19', 'setpriv', '--pdeathsig', 'KILL', '--', ...argv], {
      env: { ...baseEnvironment(process.env), LC_ALL: 'C' },
      cwd: `/proc/self/fd/${parent.fd}`,
      clock,
      onOutput: (chunk) => {
        if (output.length < MAX_OUTPUT_BYTES) output += chunk.toString('latin1');
      },
    });
    if (isStopped) running.signal('SIGTERM');
    const [{ code }] = await Promise.all([running.exited, running.drained]);
    if (code === 0) return null;
    const lines = output.trim().split('\n').filter(Boolean);
    return lines.length > 0 ? lines.join('; ') : `the removal ended with status ${code}`;
  };
  const remove = async (): Promise<string | null> => {
    const tree = join(await readlink(`/proc/self/fd/${parent.fd}`), entry);
    const mount = mountWithin(tree, mountPoints(await readFile('/proc/self/mountinfo', 'utf8')));
    if (mount !== null) return `a file system is mounted at ${mount}; unmount it`;
    // Restores permissions, because an app may have removed all permissions of its directories. Only an agent without
    // root needs this.
    if (process.geteuid?.() !== 0) await run(['chmod', '-R', 'u+rwX', '--', entry]);
    return run(['rm', '-rf', '--one-file-system', '--', entry]);
  };
  const stop = () => {
    isStopped = true;
    running?.signal('SIGTERM');
  };
  const limit = clock.setTimeout(stop, REMOVAL_MS);
  const left = remove().finally(async () => {
    limit.cancel();
    await parent.close();
  });
  return { stop, left };
}

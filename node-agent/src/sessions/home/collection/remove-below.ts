import { fileURLToPath } from 'node:url';
import type { Clock } from '@footlight/platform';
import { baseEnvironment } from '../../../runtime/confinement/command-line.ts';
import { startChild } from '../../../runtime/programs/child.ts';

/** Longest removal of one home; what is left then is removed in the next run. Chosen, not measured. */
const REMOVAL_SECS = 3_600;
/** Of what could not be removed. */
const MAX_OUTPUT_BYTES = 2_048;

export interface Removal {
  stop(): void;
  /** null: nothing is left. Otherwise the first things that could not be removed, with reasons. */
  readonly left: Promise<string | null>;
}

/**
 * Removes a directory tree below a root. A program of its own does it (remove-home.pl): millions of files block that
 * program and not this process, and links and mounts inside lead it nowhere. It ends with this process.
 * @param names the way from the root, by names of directories; the last one is removed
 */
export async function removeBelow(root: string, names: readonly string[], clock: Clock): Promise<Removal> {
  const script = fileURLToPath(new URL('remove-home.pl', import.meta.url));
  let output = '';
  const child = await startChild(
    ['timeout', '--kill-after=1', String(REMOVAL_SECS), 'nice', '-n', '19', 'perl', script, root, ...names],
    {
      env: baseEnvironment(process.env),
      cwd: '/',
      clock,
      lifeline: true,
      onOutput: (chunk) => {
        if (output.length < MAX_OUTPUT_BYTES) output += chunk.toString('latin1');
      },
    },
  );
  const left = Promise.all([child.exited, child.drained]).then(([{ code }]) => {
    if (code === 0) return null;
    const lines = output.trim().split('\n').filter(Boolean);
    return lines.length > 0 ? lines.join('; ') : `the removal ended with status ${code}`;
  });
  return { stop: () => child.signal('SIGTERM'), left };
}

import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whether this process may mount a file system; only root may. */
export const canMountDisks = process.getuid?.() === 0;

/** Separate file system in memory, which a test may fill completely. */
export interface SmallDisk {
  readonly folder: string;
  fill(): void;
  /** Deletes the files of `fill`. */
  free(): void;
  unmount(): void;
}

export function mountSmallDisk(sizeMib: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'footlight-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMib}m`, 'footlight-test', folder]);
  const ballast = join(folder, 'ballast');
  return {
    folder,
    fill() {
      const descriptor = openSync(ballast, 'a');
      for (const block of [Buffer.alloc(1024 * 1024), Buffer.alloc(4096)]) {
        try {
          for (;;) if (writeSync(descriptor, block) < block.length) break;
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        }
      }
      closeSync(descriptor);
    },
    free: () => rmSync(ballast),
    unmount() {
      execFileSync('umount', ['-l', folder]);
      rmSync(folder, { recursive: true });
    },
  };
}

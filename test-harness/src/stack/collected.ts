import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { eventually, PATIENCE_MS, repositoryRoot } from './program.ts';

const COLLECT = pathToFileURL(path.join(repositoryRoot, 'test-harness', 'src', 'stack', 'collect.mjs')).href;

/**
 * Runs the garbage collector of a Footlight process before its memory is measured. V8 may delay a collection, and
 * uncollected garbage looks like a leak.
 */
export class Collected {
  readonly #directory = mkdtempSync(path.join(tmpdir(), 'footlight-collected-'));
  readonly #counted = path.join(this.#directory, 'count');

  constructor() {
    writeFileSync(this.#counted, '');
  }

  /** Additional environment variables of the process. */
  get env(): Record<string, string> {
    return { NODE_OPTIONS: `--import=${COLLECT}`, COLLECTED_COUNT: this.#counted };
  }

  /** @param pid id of the process that was started with `env`, not of its shell */
  async collect(pid: number): Promise<void> {
    const before = statSync(this.#counted).size;
    process.kill(pid, 'SIGIO');
    await eventually(
      'the garbage is collected',
      PATIENCE_MS,
      () => statSync(this.#counted).size > before || null,
    );
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

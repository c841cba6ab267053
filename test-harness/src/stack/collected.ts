import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { eventually, repositoryRoot } from './program.ts';

const COLLECT = pathToFileURL(path.join(repositoryRoot, 'test-harness', 'src', 'stack', 'collect.mjs')).href;
const LIMIT_MS = 30_000;

/**
 * Has a program of ours collect its garbage before its memory is looked at: the engine does so when it likes, and what it
 * has put off looks like what is kept.
 */
export class Collected {
  readonly #directory = mkdtempSync(path.join(tmpdir(), 'footlight-collected-'));
  readonly #counted = path.join(this.#directory, 'count');

  constructor() {
    writeFileSync(this.#counted, '');
  }

  /** What the program's environment has besides. */
  get env(): Record<string, string> {
    return { NODE_OPTIONS: `--import=${COLLECT}`, COLLECTED_COUNT: this.#counted };
  }

  /** @param pid of a program that was started with `env`, not of a shell around it */
  async collect(pid: number): Promise<void> {
    const before = statSync(this.#counted).size;
    process.kill(pid, 'SIGIO');
    await eventually(
      'the garbage is collected',
      LIMIT_MS,
      () => statSync(this.#counted).size > before || null,
    );
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

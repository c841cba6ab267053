import { readFile, rm } from 'node:fs/promises';
import { writeWhole } from '@footlight/platform';
import { z } from 'zod';
import { MAX_FAILURES } from './acme-rules.ts';

const keptFailures = z.object({
  /** Authority and names of the orders; failures of other orders do not count. */
  order: z.string(),
  /** Times of the newest failures, oldest first, epoch milliseconds. */
  failed_at_ms: z.array(z.int()).max(MAX_FAILURES),
  /** Why the last order failed. */
  problem: z.string(),
});

/**
 * Failed orders of one authority and list of names, kept in a file, so that a control plane that restarts again and
 * again does not meet the limits of the authority.
 */
export class AcmeFailures {
  readonly #file: string;
  readonly #order: string;
  #failedAtMs: number[] = [];
  #problem: string | null = null;

  constructor(file: string, directory: URL, hosts: readonly string[]) {
    this.#file = file;
    this.#order = [directory.href, ...hosts].join(' ');
  }

  get failedAtMs(): readonly number[] {
    return this.#failedAtMs;
  }

  /** Why the last order failed; null: it succeeded, or there was none. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Reads the failures of former processes. A missing or unreadable file counts as none. */
  async load(): Promise<void> {
    const text = await readFile(this.#file, 'utf8').catch(() => 'null');
    const kept = keptFailures.safeParse(parsed(text));
    if (!kept.success || kept.data.order !== this.#order) return;
    this.#failedAtMs = kept.data.failed_at_ms;
    this.#problem = kept.data.problem;
  }

  /** @throws when the file cannot be written */
  async add(problem: string, nowMs: number): Promise<void> {
    this.#failedAtMs = [...this.#failedAtMs, nowMs].slice(-MAX_FAILURES);
    this.#problem = problem;
    const kept = { order: this.#order, failed_at_ms: this.#failedAtMs, problem };
    await writeWhole(this.#file, JSON.stringify(kept), 0o600);
  }

  async clear(): Promise<void> {
    this.#failedAtMs = [];
    this.#problem = null;
    await rm(this.#file, { force: true });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

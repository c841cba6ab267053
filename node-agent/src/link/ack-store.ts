import type { Clock } from '@footlight/platform';
import type { RefusalCode } from '@footlight/protocol';
import { type PreflightAnswer, STORED_ACK_MS, STORED_ACKS } from '@footlight/protocol/agent';

/** Result of a command: accepted, or refused with a code. `preflight`: only of the command with this name. */
export type CommandAnswer =
  | { ok: true; preflight?: PreflightAnswer }
  | { ok: false; code: RefusalCode; error: string };

/**
 * Results of recent commands by command id, so that a repeated command gets the same answer and has no second effect.
 * Bounded in count and age, including results that are still pending.
 */
export class AckStore {
  readonly #clock: Clock;
  readonly #entries = new Map<string, { answer: Promise<CommandAnswer>; atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns the stored result of this id, or the result of `decide`, which runs at most once per id. */
  once(id: string, decide: () => Promise<CommandAnswer>): Promise<CommandAnswer> {
    this.#expire();
    const known = this.#entries.get(id);
    if (known) return known.answer;
    const answer = decide();
    this.#entries.set(id, { answer, atMs: this.#clock.monotonicMs() });
    return answer;
  }

  #expire(): void {
    const oldestMs = this.#clock.monotonicMs() - STORED_ACK_MS;
    // The map is ordered by age, so the first entries are the oldest.
    for (const [id, entry] of this.#entries) {
      if (entry.atMs > oldestMs && this.#entries.size < STORED_ACKS) break;
      this.#entries.delete(id);
    }
  }
}

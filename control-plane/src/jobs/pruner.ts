import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import type { JobsTable } from '../platform/database/tables/jobs.ts';
import type { Fence } from '../platform/leader.ts';
import type { JobsPlatform } from './deps.ts';
import { capEndedRuns, deleteOldRuns } from './run-history.ts';
import type { Target } from './run-store.ts';

/** Targets whose runs ended since the last pass; more than these wait for the next whole pass. Chosen, not measured. */
const MAX_TARGETS = 10_000;
/**
 * Time between two passes over all runs: for runs that have only become too old, and for runs that other replicas
 * stored. Ranking the runs of 1,000 hosts takes a tenth of a second, so it is not done in every tick. Chosen, not
 * measured.
 */
const WHOLE_EVERY_MS = 10 * MINUTE_MS;
/** A run that ended further ahead than this was stored before the clock was set back. Chosen, not measured. */
const AHEAD_MS = MINUTE_MS;

/**
 * Deletes old runs: each target keeps the newest of its job's limit, and none that is too old. A run that ended in the
 * future (the clock was ahead) counts as ended now; otherwise it would be the newest one, and every later run would be
 * deleted at its end.
 */
export class Pruner {
  readonly #platform: JobsPlatform;
  readonly #ended = new Map<string, Target>();
  /** Monotonic, so that a clock that was ahead for a moment delays no pass. */
  #wholeAtMs: number | null = null;

  constructor(platform: JobsPlatform) {
    this.#platform = platform;
  }

  /** A run of this target ended in this process. */
  ended(target: Target): void {
    if (this.#ended.size < MAX_TARGETS) this.#ended.set(`${target.jobId} ${target.hostId}`, target);
    else this.all();
  }

  /** Makes the next pass check all runs, because a limit was lowered. */
  all(): void {
    this.#wholeAtMs = null;
    this.#ended.clear();
  }

  async prune(fence: Fence, jobs: readonly JobsTable[]): Promise<void> {
    const { clock, config, database } = this.#platform;
    const nowMs = clock.nowMs();
    const monotonicMs = clock.monotonicMs();
    const isWhole = this.#wholeAtMs === null || monotonicMs - this.#wholeAtMs >= WHOLE_EVERY_MS;
    const targets = [...this.#ended.values()];
    this.#ended.clear();
    if (isWhole) this.#wholeAtMs = monotonicMs;
    if (isWhole)
      await database.transaction(async (tx) => {
        await fence.check(tx);
        await capEndedRuns(tx, { nowMs, aheadMs: AHEAD_MS });
      });
    const { retentionMs } = config.jobs;
    for (const job of jobs) {
      const limits = {
        keep: job.history_limit,
        endedBeforeMs: retentionMs === null ? null : nowMs - retentionMs,
        // The next run is planned from the end of the last one.
        keepLast: retentionMs !== null && (job.interval_secs ?? 0) * SECOND_MS > retentionMs,
      };
      const own = isWhole ? [null] : targets.filter(({ jobId }) => jobId === job.id);
      if (own.length === 0) continue;
      await database.transaction(async (tx) => {
        await fence.check(tx);
        for (const target of own) await deleteOldRuns(tx, job.id, target, limits);
      });
    }
  }
}

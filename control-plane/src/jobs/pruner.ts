import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import type { JobsTable } from '../platform/database/tables/jobs.ts';
import type { Fence } from '../platform/leader.ts';
import type { JobsPlatform } from './deps.ts';
import { capEndedRuns, deleteOldRuns } from './run-history.ts';
import type { Target } from './run-store.ts';

/**
 * Maximum remembered targets whose runs ended since the last pass. With more targets the next pass checks all runs.
 * Chosen, not measured.
 */
const MAX_TARGETS = 10_000;
/**
 * Time between two passes over all runs. They find runs that became too old, and runs that other replicas stored.
 * Ranking the runs of 1,000 hosts takes a tenth of a second, so it is not done in every tick. Chosen, not measured.
 */
const WHOLE_EVERY_MS = 10 * MINUTE_MS;
/**
 * If the end of a run is further in the future than this, the run was stored before the clock was set back. Chosen, not
 * measured.
 */
const AHEAD_MS = MINUTE_MS;

/**
 * Deletes old runs. Each target keeps its newest runs up to the job's limit, except those that are too old. A run with
 * an end in the future (the clock was ahead) counts as ended now; otherwise it would stay the newest run, and every
 * later run would be deleted at its end.
 */
export class Pruner {
  readonly #platform: JobsPlatform;
  readonly #ended = new Map<string, Target>();
  /** Monotonic time of the next pass over all runs, so that a wrong wall clock cannot delay it. */
  #wholeAtMs: number | null = null;

  constructor(platform: JobsPlatform) {
    this.#platform = platform;
  }

  /** Stores that a run of this target ended in this process. */
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
        // Keep the last run, because the next one is planned from its end.
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

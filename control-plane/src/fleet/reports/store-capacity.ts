import { delay, SECOND_MS } from '@footlight/platform';
import type { Capacity } from '@footlight/protocol/agent';
import type { Tx } from '../../platform/database/database.ts';
import { Failed, isUnavailable, runWithIndividualRetry } from '../../platform/database/index.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { applyCapacity, gpusOf, lockCapacity } from '../hosts/host-store.ts';
import { changesNothing, planCapacity } from './capacity.ts';
import type { SampledGpu } from './heartbeat-buffer.ts';

const RETRY_MS = SECOND_MS;

/**
 * Retries a write that must not be lost while the database is unavailable. The agent's next reports wait, and the
 * agent keeps unconfirmed reports. Any other error is a bug: it is logged and the report counts as handled, otherwise
 * the agent would repeat it forever. Of several reports only the failing one is dropped.
 * @param isOpen whether a link still waits for the result
 * @param write stores all of them or none
 * @returns false: the link closed, so the agent will repeat the reports
 */
export async function retryUntilStored<Report>(
  platform: Pick<Platform, 'clock' | 'logger'>,
  isOpen: () => boolean,
  reports: readonly Report[],
  write: (reports: readonly Report[]) => Promise<void>,
): Promise<boolean> {
  let left = reports;
  for (;;) {
    const writeAll = async (some: readonly Report[]) => {
      await write(some);
      return some;
    };
    const results = await runWithIndividualRetry(left, writeAll, isTransient);
    const errors = results.map((result) => (result instanceof Failed ? result.error : null));
    for (const error of errors) {
      if (error !== null && !isTransient(error)) platform.logger.error({ err: error }, 'agent.report_failed');
    }
    left = left.filter((_, n) => isTransient(errors[n]));
    if (left.length === 0) return true;
    await delay(platform.clock, RETRY_MS);
    if (!isOpen()) return false;
  }
}

/** The database or its disk refuses every write for now. */
const isTransient = (error: unknown): boolean =>
  isUnavailable(error) || (error instanceof ApiError && error.status === 503);

export interface StoredCapacity {
  /** GPUs that heartbeats may sample; none while the detection is not ok. */
  gpus: readonly SampledGpu[];
  /** A console configuration exists. */
  hasConsole: boolean;
}

export const NOTHING_STORED: StoredCapacity = { gpus: [], hasConsole: false };

/** Applies a capacity report to the host's record, if it still exists. */
export async function storeCapacity(
  tx: Tx,
  { clock, random }: Pick<Platform, 'clock' | 'random'>,
  hostId: string,
  report: Capacity,
): Promise<StoredCapacity> {
  const [host, stored] = await Promise.all([lockCapacity(tx, hostId), gpusOf(tx, hostId)]);
  if (host === undefined) return NOTHING_STORED;
  const nowMs = clock.nowMs();
  const plan = planCapacity({ host, gpus: stored }, report, nowMs);
  const isKnown = changesNothing(plan);
  const added = isKnown ? null : await applyCapacity(tx, hostId, host, plan, nowMs, () => random.uuid());
  const hasConsole = host.console_config !== null;
  if (plan.gpus === null) return { gpus: [], hasConsole };
  const gpus = report.gpus.map(({ index, vram_mb_total }) => ({
    id: added?.get(index) ?? stored.find((gpu) => gpu.gpu_index === index)!.id,
    index,
    vramMbTotal: vram_mb_total,
  }));
  return { gpus, hasConsole };
}

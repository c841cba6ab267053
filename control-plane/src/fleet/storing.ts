import type { Capacity } from '@footlight/protocol/agent';
import { SECOND_MS, sleep } from '../platform/clock.ts';
import { bool } from '../platform/database/codec.ts';
import type { Tx } from '../platform/database/database.ts';
import { isUnavailable } from '../platform/database/index.ts';
import { ApiError } from '../platform/errors.ts';
import type { Platform } from '../platform/platform.ts';
import { changesNothing, planCapacity } from './capacity.ts';
import { applyCapacity, gpusOf, lockHost } from './host-store.ts';
import type { SampledGpu } from './pulse.ts';

const RETRY_MS = SECOND_MS;

/**
 * Runs a write that must not be lost. While the database is away it is repeated: the agent's next reports wait behind
 * it, and the agent keeps what is not confirmed. Any other error is ours; it is logged and the report counts as
 * handled, or the agent would send it for ever. Of several reports only the one that fails does.
 * @param isOpen whether somebody still waits for the outcome
 * @param write all of them or none
 * @returns false: the link closed meanwhile, so the agent will send them again
 */
export async function untilStored<Report>(
  platform: Pick<Platform, 'clock' | 'logger'>,
  isOpen: () => boolean,
  reports: readonly Report[],
  write: (reports: readonly Report[]) => Promise<void>,
): Promise<boolean> {
  for (;;) {
    try {
      await write(reports);
      return true;
    } catch (error) {
      const isAway = isUnavailable(error) || (error instanceof ApiError && error.status === 503);
      if (!isAway && reports.length > 1) break;
      if (!isAway) {
        platform.logger.error({ event: 'agent.report_failed', err: error });
        return true;
      }
      await sleep(platform.clock, RETRY_MS);
      if (!isOpen()) return false;
    }
  }
  for (const report of reports) {
    if (!(await untilStored(platform, isOpen, [report], write))) return false;
  }
  return true;
}

/**
 * Applies a capacity report to the host's record.
 * @returns the GPUs that heartbeats may bring samples of; none while the detection is not ok
 */
export async function storeCapacity(
  tx: Tx,
  { database, clock, random }: Pick<Platform, 'database' | 'clock' | 'random'>,
  hostId: string,
  report: Capacity,
): Promise<SampledGpu[]> {
  const host = await lockHost(database, tx, hostId);
  if (host === undefined) return [];
  const nowMs = clock.nowMs();
  const stored = await gpusOf(tx, hostId);
  const plan = planCapacity({ host, gpus: stored }, report, nowMs);
  const isKnown = changesNothing(plan);
  if (!isKnown) await applyCapacity(tx, hostId, plan, nowMs, () => random.uuid());
  if (plan.gpus === null) return [];
  return (isKnown ? stored : await gpusOf(tx, hostId))
    .filter((gpu) => bool(gpu.reported))
    .map((gpu) => ({ id: gpu.id, index: gpu.gpu_index, vramMbTotal: gpu.vram_mb_total }));
}

import { delay, SECOND_MS } from '@footlight/platform';
import type { Capacity } from '@footlight/protocol/agent';
import type { Tx } from '../../platform/database/database.ts';
import { isUnavailable } from '../../platform/database/index.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { applyCapacity, gpusOf, lockCapacity } from '../hosts/host-store.ts';
import { changesNothing, planCapacity } from './capacity.ts';
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
        platform.logger.error({ err: error }, 'agent.report_failed');
        return true;
      }
      await delay(platform.clock, RETRY_MS);
      if (!isOpen()) return false;
    }
  }
  for (const report of reports) {
    if (!(await untilStored(platform, isOpen, [report], write))) return false;
  }
  return true;
}

export interface StoredCapacity {
  /** Those that heartbeats may bring samples of; none while the detection is not ok. */
  gpus: readonly SampledGpu[];
  /** Something is set for the display beside the host. */
  hasConsole: boolean;
}

export const NOTHING_STORED: StoredCapacity = { gpus: [], hasConsole: false };

/** Applies a capacity report to the host's record, if there still is one. */
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

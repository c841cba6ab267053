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
 * Retries a write that must not be lost while the database is unavailable. The agent's next reports wait, and the
 * agent keeps unconfirmed reports. Any other error is a bug: it is logged and the report counts as handled, otherwise
 * the agent would repeat it forever. Of several reports only the failing one is dropped.
 * @param isOpen whether a link still waits for the result
 * @param write stores all of them or none
 * @returns false: the link closed, so the agent will repeat the reports
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

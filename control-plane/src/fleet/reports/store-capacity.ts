import { type Clock, delay, SECOND_MS } from '@footlight/platform';
import type { Capacity, Gpu } from '@footlight/protocol/agent';
import type { Tx } from '../../platform/database/database.ts';
import { Failed, isUnavailable, runWithIndividualRetry } from '../../platform/database/index.ts';
import { batchWrites } from '../../platform/database/query/batch-writes.ts';
import type { GpusTable } from '../../platform/database/tables/fleet.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { applyCapacities, type CapacityChange, gpusOf, lockCapacities } from '../hosts/host-store.ts';
import { changesNothing, planCapacity } from './capacity.ts';
import type { SampledGpu } from './heartbeat-buffer.ts';
import { turnsOfHosts } from './turns-of-hosts.ts';

const RETRY_MS = SECOND_MS;
/** Maximum hosts whose capacity is stored in one transaction, so that it holds the write lock only briefly. */
const MAX_BATCH = 128;

/**
 * Retries a write that must not be lost while the database is unavailable. The agent's next reports wait, and the
 * agent keeps unconfirmed reports. Any other error is a bug: it is logged and the report counts as handled, otherwise
 * the agent would repeat it forever. Of several reports only the failing one is dropped.
 * @param failed logs such an error, within the host's limit of lines
 * @param isOpen whether a link still waits for the result
 * @param write stores all of them or none
 * @returns false: the link closed, so the agent will repeat the reports
 */
export async function retryUntilStored<Report>(
  { clock, failed }: { clock: Clock; failed(error: unknown): void },
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
      if (error !== null && !isTransient(error)) failed(error);
    }
    left = left.filter((_, n) => isTransient(errors[n]));
    if (left.length === 0) return true;
    await delay(clock, RETRY_MS);
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

/** A capacity report and the host that sent it. */
export interface CapacityOfHost {
  hostId: string;
  report: Capacity;
}

/**
 * Stores capacity reports: those of one turn of the event loop share a transaction and its statements. One that fails
 * is repeated alone. Reports of a host keep their order; those of a deleted host change nothing.
 */
export function createCapacities(
  platform: Pick<Platform, 'clock' | 'random' | 'writeBatch'>,
): (report: CapacityOfHost) => Promise<StoredCapacity> {
  return batchWrites<CapacityOfHost, StoredCapacity>(
    (all) =>
      runWithIndividualRetry(all, (some) => {
        const hosts = [...new Set(some.map(({ hostId }) => hostId))];
        return platform.writeBatch.run({ hosts, gpusOfHosts: hosts }, (tx) =>
          storeCapacities(tx, platform, some),
        );
      }),
    MAX_BATCH,
  );
}

async function storeCapacities(
  tx: Tx,
  { clock, random }: Pick<Platform, 'clock' | 'random'>,
  all: readonly CapacityOfHost[],
): Promise<StoredCapacity[]> {
  const results = new Map<CapacityOfHost, StoredCapacity>();
  for (const turn of turnsOfHosts(all, ({ hostId }) => hostId)) {
    const hostIds = turn.map(({ hostId }) => hostId);
    const [hosts, gpus] = await Promise.all([lockCapacities(tx, hostIds), gpusOf(tx, hostIds)]);
    const nowMs = clock.nowMs();
    const gpusOfHost = new Map<string, GpusTable[]>(hostIds.map((id) => [id, []]));
    for (const gpu of gpus) gpusOfHost.get(gpu.host_id)?.push(gpu);
    const changes: CapacityChange[] = [];
    for (const one of turn) {
      const { hostId, report } = one;
      const stored = hosts.get(hostId);
      if (stored === undefined) continue;
      const own = gpusOfHost.get(hostId) ?? [];
      const plan = planCapacity({ host: stored, gpus: own }, report, nowMs);
      const newIds = new Map(plan.gpus?.insert.map(({ index }) => [index, random.uuid()]));
      if (!changesNothing(plan)) changes.push({ stored, plan, newIds });
      results.set(one, {
        gpus: plan.gpus === null ? [] : report.gpus.map((gpu) => sampledGpu(gpu, own, newIds)),
        hasConsole: stored.console_config !== null,
      });
    }
    await applyCapacities(tx, changes, nowMs);
  }
  return all.map((one) => results.get(one) ?? NOTHING_STORED);
}

const sampledGpu = (
  { index, vram_mb_total }: Gpu,
  stored: readonly GpusTable[],
  newIds: ReadonlyMap<number, string>,
): SampledGpu => ({
  id: newIds.get(index) ?? stored.find((gpu) => gpu.gpu_index === index)!.id,
  index,
  vramMbTotal: vram_mb_total,
});

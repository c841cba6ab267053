import { DAY_MS } from '@footlight/platform';
import type { Fence } from '../platform/leader.ts';
import type { Platform } from '../platform/platform.ts';
import { pathOfAsset } from './asset.ts';
import type { BlobStore } from './blobs.ts';
import type { Availability } from './fetch/availability.ts';
import type { Resolver } from './fetch/resolver.ts';
import { findReferenced, isReferenced } from './store.ts';

/** Paths of one query. */
const BATCH = 200;

/** Registers the two jobs: look up pictures, and remove orphans. */
export function registerSweeps(
  platform: Platform,
  deps: {
    availability: () => Promise<Availability>;
    blobs: BlobStore;
    resolver: Resolver;
    stopping: AbortSignal;
  },
): void {
  const { config, database, leader, logger } = platform;
  const { blobs, stopping } = deps;

  async function sweep(fence: Fence): Promise<void> {
    const { provider } = await deps.availability();
    if (!provider) return;
    await blobs.ensureUsable();
    const counts = await deps.resolver.pass(provider, (tx) => fence.check(tx), stopping);
    if (counts.resolved + counts.no_match + counts.failed > 0) {
      logger.info({ ...counts }, 'artwork.swept');
    }
  }

  async function pruneOrphans(fence: Fence): Promise<void> {
    await blobs.ensureUsable();
    let pruned = 0;
    for await (const shard of blobs.list()) {
      for (let start = 0; start < shard.length; start += BATCH) {
        if (stopping.aborted) return;
        const batch = shard.slice(start, start + BATCH);
        const referenced = await database.transaction(async (tx) => {
          await fence.check(tx);
          return findReferenced(tx, batch.map(pathOfAsset));
        });
        for (const asset of batch) {
          const path = pathOfAsset(asset);
          if (referenced.has(path)) continue;
          if (await blobs.removeOrphan(asset, () => isReferenced(database.db, path))) pruned += 1;
        }
      }
    }
    await blobs.tidy();
    if (pruned > 0) logger.info({ pruned }, 'artwork.pruned');
  }

  const everyMs = config.artwork.sweepIntervalMs;
  if (everyMs !== null) leader.register({ id: 'artwork.sweep', everyMs, run: sweep });
  leader.register({ id: 'artwork.prune_orphans', everyMs: DAY_MS, run: pruneOrphans });
}

import type { JobOutcome, JobRunContext, Platform } from '../platform/platform.ts';
import { pathOfAsset } from './asset.ts';
import type { BlobStore } from './blobs.ts';
import type { Availability } from './fetch/availability.ts';
import type { Resolver } from './fetch/resolver.ts';
import { findReferenced, isReferenced } from './store.ts';

/** Maximum paths per query. */
const BATCH = 200;

/** Registers the two jobs that look up pictures and remove orphaned blobs. */
export function registerSweeps(
  platform: Platform,
  deps: {
    availability: () => Promise<Availability>;
    blobs: BlobStore;
    resolver: Resolver;
    stopping: AbortSignal;
  },
): void {
  const { config, database, jobs, logger } = platform;
  const { blobs, stopping } = deps;

  async function sweep({ fence, signal }: JobRunContext): Promise<JobOutcome> {
    const { provider } = await deps.availability();
    if (!provider) return { state: 'skipped', summary: { reason: 'no provider is configured' } };
    await blobs.ensureUsable();
    const counts = await deps.resolver.pass(
      provider,
      (tx) => fence.check(tx),
      AbortSignal.any([stopping, signal]),
    );
    if (counts.resolved + counts.no_match + counts.failed > 0) {
      logger.info({ ...counts }, 'artwork.swept');
    }
    const { resolved, no_match, failed, left } = counts;
    return {
      state: 'succeeded',
      summary: { apps_considered: resolved + no_match + failed + left, artwork_resolved: resolved, no_match },
    };
  }

  async function pruneOrphans({ fence, signal }: JobRunContext): Promise<JobOutcome> {
    await blobs.ensureUsable();
    let pruned = 0;
    for await (const shard of blobs.list()) {
      for (let start = 0; start < shard.length; start += BATCH) {
        stopping.throwIfAborted();
        signal.throwIfAborted();
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
    return { state: 'succeeded', summary: { pruned } };
  }

  jobs.handle('artwork.sweep', { run: sweep, lock: config.artwork.sweepInterval });
  jobs.handle('artwork.prune_orphans', { run: pruneOrphans });
}

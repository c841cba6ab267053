import type { Tx } from '../../platform/database/index.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { matchedRecord } from '../record.ts';
import type { Recorder } from '../recorder.ts';
import * as store from '../store.ts';
import type { Matcher } from './matching.ts';
import { type Provider, ProviderUnavailable } from './steamgriddb.ts';

/** Maximum apps per pass. */
const MAX_APPS = 25;
/** After this number of consecutive failures the provider counts as down and the pass ends. */
const MAX_FAILED_IN_A_ROW = 3;
/** Maximum apps remembered as failed. Further failed apps are not remembered. */
const MAX_REMEMBERED = 500;

/** Result of a look-up. left: in the meantime an administrator chose a record, or the app was deleted. */
export type ResolveOutcome = 'resolved' | 'no_match' | 'failed' | 'left';

export interface ReresolveCounts {
  total: number;
  resolved: number;
  skipped_locked: number;
  failed: number;
}

/** Finds pictures for apps without a record. */
export interface Resolver {
  /**
   * Looks up apps without a record, newest first. Failed apps get no record; the next pass retries them after apps that
   * were not tried yet.
   * @param check first statement of each transaction
   */
  pass(
    provider: Provider,
    check: (tx: Tx) => Promise<void>,
    stopping: AbortSignal,
  ): Promise<Record<ResolveOutcome, number>>;
  /** Repeats the look-up of every app. @throws ApiError conflict while another run is active */
  reresolve(provider: Provider, force: boolean): Promise<ReresolveCounts>;
}

export function createResolver(platform: Platform, deps: { matcher: Matcher; recorder: Recorder }): Resolver {
  const { database, logger } = platform;
  const { matcher, recorder } = deps;
  /** Apps whose last look-up failed. They are tried last, so that they do not delay other apps. */
  const failed = new Set<string>();
  let reresolving = false;

  /** @param mayReplace decides from the current record while the app is locked */
  async function resolve(
    provider: Provider,
    app: store.ArtworkApp,
    mayReplace: (former: { locked: number } | null) => boolean,
    check?: (tx: Tx) => Promise<void>,
  ): Promise<ResolveOutcome> {
    try {
      const found = await matcher.match(provider, app);
      const row = await recorder.write(
        app.id,
        { tile: found?.tile ?? null, hero: found?.hero ?? null },
        (former, pictures) =>
          mayReplace(former) ? matchedRecord(found && { title: found.title, pictures }) : null,
        check,
      );
      if (row === null) return 'left';
      return found ? 'resolved' : 'no_match';
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not_found') return 'left';
      if (!(error instanceof ProviderUnavailable)) throw error;
      logger.warn({ app_id: app.id, reason: error.message }, 'artwork.lookup_failed');
      return 'failed';
    }
  }

  /** Apps without a record: first those that were not tried yet, then the failed ones. */
  async function listDue(): Promise<store.ArtworkApp[]> {
    const fresh = await store.listAppsWithoutRecord(database.db, MAX_APPS, [...failed]);
    if (fresh.length === MAX_APPS || failed.size === 0) return fresh;
    const seen = new Set(fresh.map(({ id }) => id));
    const all = await store.listAppsWithoutRecord(database.db, MAX_APPS + fresh.length, []);
    return [...fresh, ...all.filter(({ id }) => !seen.has(id))].slice(0, MAX_APPS);
  }

  return {
    async pass(provider, check, stopping) {
      const counts = { resolved: 0, no_match: 0, failed: 0, left: 0 };
      let inARow = 0;
      for (const app of await listDue()) {
        if (stopping.aborted || inARow === MAX_FAILED_IN_A_ROW) break;
        const outcome = await resolve(provider, app, (former) => former === null, check);
        counts[outcome] += 1;
        inARow = outcome === 'failed' ? inARow + 1 : 0;
        failed.delete(app.id);
        if (outcome === 'failed' && failed.size < MAX_REMEMBERED) failed.add(app.id);
      }
      return counts;
    },

    async reresolve(provider, force) {
      if (reresolving) throw new ApiError('conflict', { message: 'Such a run is already under way.' });
      reresolving = true;
      try {
        const apps = await store.listApps(database.db);
        const counts = { total: apps.length, resolved: 0, skipped_locked: 0, failed: 0 };
        let inARow = 0;
        for (const app of apps) {
          const mayReplace = (former: { locked: number } | null) => force || former?.locked !== 1;
          if (!mayReplace(await store.findRecord(database.db, app.id))) {
            counts.skipped_locked += 1;
            continue;
          }
          const outcome =
            inARow === MAX_FAILED_IN_A_ROW ? 'failed' : await resolve(provider, app, mayReplace);
          inARow = outcome === 'failed' ? Math.min(inARow + 1, MAX_FAILED_IN_A_ROW) : 0;
          if (outcome === 'resolved') counts.resolved += 1;
          if (outcome === 'failed') counts.failed += 1;
        }
        return counts;
      } finally {
        reresolving = false;
      }
    },
  };
}

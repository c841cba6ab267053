import { ApiError, noSuch } from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/message/contract.ts';
import type { Platform } from '../../platform/platform.ts';
import { recordCatalogChange } from '../changes.ts';
import { isEntitled, lockApp } from '../store.ts';
import { deleteFavourite, insertFavourite } from './store.ts';

/** Favourite apps of a person. Lists and single reads of apps report the mark. */
export interface Favourites {
  /** @throws ApiError not_found, forbidden; in this order. A second call for the same app changes nothing. */
  add(caller: Caller, appId: string): Promise<void>;
  /** Never refuses; unmarked, disabled and deleted apps are accepted. */
  remove(caller: Caller, appId: string): Promise<void>;
}

export function createFavourites(platform: Pick<Platform, 'clock' | 'database'>): Favourites {
  const { clock, database } = platform;
  return {
    add: (caller, appId) =>
      database.transaction(async (tx) => {
        // Lock the app, so that it still exists when the mark is written.
        const app = await lockApp(tx, appId);
        if (app === null || (app.enabled === 0 && caller.role !== 'admin')) throw noSuch('app', appId);
        if (!(await isEntitled(tx, caller.userId, appId))) {
          throw new ApiError('forbidden', { message: 'You are not entitled to this app.' });
        }
        const mark = { user_id: caller.userId, app_id: appId, created_at: clock.nowMs() };
        if (await insertFavourite(tx, mark)) await recordCatalogChange(tx, { userId: caller.userId });
      }),

    remove: (caller, appId) =>
      database.transaction(async (tx) => {
        if (await deleteFavourite(tx, caller.userId, appId))
          await recordCatalogChange(tx, { userId: caller.userId });
      }),
  };
}

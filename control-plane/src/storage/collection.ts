import type { GcConfirmed, GcPending } from '@footlight/protocol/agent';
import { MAX_COLLECTED_HOMES } from '@footlight/protocol/agent';
import { HOMES_PER_PAGE, type StorageHome } from '@footlight/protocol/rest';
import { instant } from '../platform/database/index.ts';
import { ApiError } from '../platform/errors.ts';
import { pageOf, readCursor, writeCursor } from '../platform/page-cursor.ts';
import type { Platform } from '../platform/platform.ts';
import { decideCollection, HOME_GRACE_MS } from './collection-rules.ts';
import {
  deleteHomes,
  findHolder,
  type HomeFilter,
  type ListedHome,
  listDueHomes,
  listHomes,
  lockHomesOfHost,
  lockListedHome,
  lockUnreapableHomes,
  markHome,
} from './collection-store.ts';
import { GraceClock } from './grace-clock.ts';

/**
 * Maximum records that one transaction of the janitor deletes. Chosen, not measured, so that the database is not locked
 * for long.
 */
const JANITOR_BATCH = 500;

/** The administrators' list of homes, and the deletion of marked homes by the hosts. */
export interface Storage {
  /** @throws ApiError 400 for an unreadable cursor */
  list(
    filter: HomeFilter & { cursor?: string | undefined },
  ): Promise<{ items: StorageHome[]; next_cursor: string | null }>;
  /**
   * Marks a home for deletion; a second call changes nothing.
   * @throws ApiError 404; 409 `home_in_use` with the session that uses it
   */
  tombstone(id: string, actorUserId: string): Promise<void>;
  /** Homes that a host must delete, oldest mark first. @throws ApiError 400 for an unreadable cursor */
  pending(hostId: string, cursor?: string): Promise<GcPending>;
  /**
   * Decides about homes that a host has moved aside, and deletes the records of those whose files are deleted. It may
   * be called again for the same homes.
   */
  confirm(hostId: string, homeIds: readonly string[]): Promise<GcConfirmed>;
}

/** A home whose record is deleted. */
export interface CollectedHome {
  userId: string;
  appId: string;
  hostId: string;
}

/** @param deps.collected deletes other data of homes after their records were deleted; must not reject */
export function createStorage(
  platform: Platform,
  deps: { collected: (homes: readonly CollectedHome[]) => Promise<void> },
): Storage {
  const { activity, clock, database, jobs } = platform;
  const grace = new GraceClock(clock);

  // Deletes records whose host was deleted: no host will delete these homes, and the files stay on that machine.
  jobs.handle('storage.home_janitor', {
    async run({ fence, signal }) {
      let deleted_unreapable = 0;
      for (let batch = JANITOR_BATCH; batch === JANITOR_BATCH; deleted_unreapable += batch) {
        signal.throwIfAborted();
        batch = await database.transaction(async (tx) => {
          await fence.check(tx);
          const homes = await lockUnreapableHomes(tx, JANITOR_BATCH);
          await deleteHomes(
            tx,
            homes.map(({ id }) => id),
          );
          return homes.length;
        });
      }
      return { state: 'succeeded', summary: { deleted_unreapable } };
    },
  });

  return {
    async list({ cursor, ...filter }) {
      const rows = await listHomes(database.db, filter, readCursor(cursor), HOMES_PER_PAGE);
      const page = pageOf(rows, HOMES_PER_PAGE);
      return { items: page.rows.map(toView), next_cursor: page.next_cursor };
    },

    async tombstone(id, actorUserId) {
      const { home, marked } = await database.transaction(async (tx) => {
        const home = await lockListedHome(tx, id);
        if (home === undefined) throw new ApiError('not_found', { message: 'There is no such home.' });
        // A launch locks the home before it adds its session, so this check cannot miss a session.
        const holder = await findHolder(tx, id);
        if (holder !== null) throw new ApiError('home_in_use', { session_id: holder });
        return { home, marked: await markHome(tx, id, clock.nowMs()) };
      });
      if (!marked) return;
      await activity.record(actorUserId, 'storage.home.tombstone', id, {
        username: home.username,
        app_name: home.app_name,
      });
    },

    async pending(hostId, cursor) {
      const key = readCursor(cursor);
      const rows = await listDueHomes(
        database.db,
        hostId,
        grace.nowMs() - HOME_GRACE_MS,
        key && { gc_after: key.created_at, id: key.id },
        MAX_COLLECTED_HOMES,
      );
      const page = rows.slice(0, MAX_COLLECTED_HOMES);
      const last = rows.length > page.length ? page.at(-1) : undefined;
      return {
        homes: page.map(({ id, provider, ref }) => ({ id, provider, ref })),
        next_cursor: last === undefined ? null : writeCursor({ created_at: last.gc_after, id: last.id }),
      };
    },

    async confirm(hostId, homeIds) {
      const { decision, gone } = await database.transaction(async (tx) => {
        const found = await lockHomesOfHost(tx, hostId, homeIds);
        const decision = decideCollection(homeIds, found, grace.nowMs());
        await deleteHomes(tx, decision.toDelete);
        const gone = found.filter(({ id }) => decision.toDelete.includes(id));
        return { decision, gone };
      });
      await deps.collected(
        gone.flatMap(({ user_id, app_id }) =>
          user_id === null || app_id === null ? [] : [{ userId: user_id, appId: app_id, hostId }],
        ),
      );
      // A repeated request deletes nothing, so it is not logged again.
      if (decision.toDelete.length > 0)
        await activity.record(null, 'storage.gc.confirm', hostId, {
          requested: decision.deletedIds.length + decision.keptIds.length,
          deleted: decision.toDelete.length,
        });
      return {
        deleted: decision.deletedIds.length,
        deleted_ids: decision.deletedIds,
        kept_ids: decision.keptIds,
      };
    },
  };
}

function toView({ created_at, last_used_at, gc_after, bytes_used, ...home }: ListedHome): StorageHome {
  return {
    ...home,
    bytes_used: Number(bytes_used),
    created_at: instant(created_at),
    last_used_at: instant(last_used_at),
    gc_after: gc_after === null ? null : instant(gc_after),
  };
}

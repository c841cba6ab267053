import { DAY_MS } from '@footlight/platform';
import type { Highlight } from '@footlight/protocol/rest';
import type { Platform } from '../../platform/platform.ts';
import { createKeyedQueue } from '../../platform/queues/keyed-queue.ts';
import { rankHighlights } from './ranking.ts';
import { loadCandidates, loadPlayHistory, loadRunningSessions } from './store.ts';

/** Highlights: apps that are shown above a person's library. */
export interface Highlights {
  /** @param windowDays play time within this number of days counts */
  list(userId: string, windowDays: number): Promise<Highlight[]>;
}

export function createHighlights({ clock, database }: Pick<Platform, 'clock' | 'database'>): Highlights {
  const { db } = database;
  const queue = createKeyedQueue();

  async function load(userId: string, windowDays: number): Promise<Highlight[]> {
    const nowMs = clock.nowMs();
    const live = await loadRunningSessions(db, userId);
    const history = await loadPlayHistory(db, userId, { sinceMs: nowMs - windowDays * DAY_MS, nowMs });
    const apps = await loadCandidates(
      db,
      userId,
      history.map(({ app_id }) => app_id),
    );
    return rankHighlights({ apps, live, history });
  }

  return {
    list: (userId, windowDays) => queue(userId, () => load(userId, windowDays)),
  };
}

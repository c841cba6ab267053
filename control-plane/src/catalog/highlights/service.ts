import { DAY_MS } from '@footlight/platform';
import type { Highlight } from '@footlight/protocol/rest';
import type { Platform } from '../../platform/platform.ts';
import { rankHighlights } from './ranking.ts';
import { loadCandidates, loadLiveSessions, loadPlayedSessions, loadPlayHistory } from './store.ts';

/** Highlights above a person's library. */
export interface Highlights {
  /** @param windowDays days of play that count */
  list(userId: string, windowDays: number): Promise<Highlight[]>;
}

export function createHighlights({ clock, database }: Pick<Platform, 'clock' | 'database'>): Highlights {
  const { db } = database;
  return {
    async list(userId, windowDays) {
      const nowMs = clock.nowMs();
      const facts = {
        apps: await loadCandidates(db, userId),
        live: await loadLiveSessions(db, userId),
        played: await loadPlayedSessions(db, userId, nowMs - windowDays * DAY_MS),
        history: await loadPlayHistory(db, userId),
      };
      return rankHighlights(facts, nowMs);
    },
  };
}

import { quotaStates } from '@footlight/protocol';
import { sql } from 'kysely';
import type { Executor } from '../../platform/database/index.ts';
import { holdsApp } from '../store.ts';
import {
  type CandidateApp,
  type LiveSession,
  MAX_HIGHLIGHTS,
  type PlayedSession,
  type PlayHistory,
} from './ranking.ts';

/**
 * Enabled and entitled apps that can be highlights: those with sessions of the user, and the newest. More new apps
 * are not needed, because all other highlights come first.
 */
export async function loadCandidates(db: Executor, userId: string): Promise<CandidateApp[]> {
  const entitled = db
    .selectFrom('apps')
    .select(['id', 'created_at'])
    .where('enabled', '=', 1)
    .where((eb) => holdsApp(eb, userId));
  const played = await entitled
    .where((eb) =>
      eb(
        'id',
        'in',
        eb
          .selectFrom('sessions')
          .select('app_id')
          .where('user_id', '=', userId)
          .where('state', '!=', 'failed'),
      ),
    )
    .execute();
  const newest = await entitled.orderBy('created_at', 'desc').orderBy('id').limit(MAX_HIGHLIGHTS).execute();
  return [...new Map([...played, ...newest].map((app) => [app.id, app])).values()];
}

export function loadLiveSessions(db: Executor, userId: string): Promise<LiveSession[]> {
  return db
    .selectFrom('sessions')
    .select(['id', 'app_id', 'created_at', 'started_at'])
    .where('user_id', '=', userId)
    .where('state', 'in', quotaStates)
    .execute();
}

/** @param sinceMs start of the window, epoch milliseconds */
export async function loadPlayedSessions(
  db: Executor,
  userId: string,
  sinceMs: number,
): Promise<PlayedSession[]> {
  const rows = await db
    .selectFrom('sessions')
    .select(['app_id', 'started_at', 'ended_at'])
    .where('user_id', '=', userId)
    .where('state', '!=', 'failed')
    .where('started_at', '>=', sinceMs)
    .execute();
  return rows.map((row) => ({ ...row, started_at: row.started_at as number }));
}

export function loadPlayHistory(db: Executor, userId: string): Promise<PlayHistory[]> {
  return db
    .selectFrom('sessions')
    .select([
      'app_id',
      sql<number | null>`max(ended_at)`.as('last_played_at'),
      sql<number | null>`max(case when state in ('stopping', 'stopped')
        then coalesce(ended_at, started_at, created_at) end)`.as('resumable_at'),
    ])
    .where('user_id', '=', userId)
    .where('state', '!=', 'failed')
    .groupBy('app_id')
    .execute();
}

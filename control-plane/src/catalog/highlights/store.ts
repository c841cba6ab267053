import { DAY_MS } from '@footlight/platform';
import { quotaStates } from '@footlight/protocol';
import { sql } from 'kysely';
import type { Executor } from '../../platform/database/index.ts';
import { isEntitledTo } from '../store.ts';
import { type CandidateApp, MAX_HIGHLIGHTS, type PlayHistory, type RunningSession } from './ranking.ts';

/**
 * Maximum play time that is counted for one session, so that a session which somebody forgot to stop does not dominate
 * the ranking.
 */
const MAX_SESSION_PLAY_MS = DAY_MS;

/**
 * Enabled and entitled apps that can be highlights: the played ones, and the newest. More than MAX_HIGHLIGHTS new apps
 * are never needed.
 * @param playedIds apps of the user's history
 */
export async function loadCandidates(
  db: Executor,
  userId: string,
  playedIds: readonly string[],
): Promise<CandidateApp[]> {
  const entitled = db
    .selectFrom('apps')
    .select(['id', 'created_at'])
    .where('enabled', '=', 1)
    .where((eb) => isEntitledTo(eb, userId));
  const played = playedIds.length === 0 ? [] : await entitled.where('id', 'in', playedIds).execute();
  const newest = await entitled.orderBy('created_at', 'desc').orderBy('id').limit(MAX_HIGHLIGHTS).execute();
  return [...new Map([...played, ...newest].map((app) => [app.id, app])).values()];
}

export function loadRunningSessions(db: Executor, userId: string): Promise<RunningSession[]> {
  return db
    .selectFrom('sessions')
    .select(['id', 'app_id', 'created_at', 'started_at'])
    .where('user_id', '=', userId)
    .where('state', 'in', quotaStates)
    .execute();
}

/**
 * Sums up the user's sessions that did not fail, grouped by app. One statement does this, because thousands of rows may
 * be added per day and SQLite blocks the event loop while it reads.
 * @param window play time of sessions that started in the window counts; epoch milliseconds
 */
export async function loadPlayHistory(
  db: Executor,
  userId: string,
  window: { sinceMs: number; nowMs: number },
): Promise<PlayHistory[]> {
  const played = sql`coalesce(ended_at, cast(${window.nowMs} as bigint)) - started_at`;
  const rows = await db
    .selectFrom('sessions')
    .select([
      'app_id',
      sql<number | null>`max(ended_at)`.as('last_played_at'),
      sql<number | null>`max(case when state in ('stopping', 'stopped')
        then coalesce(ended_at, started_at, created_at) end)`.as('resumable_at'),
      sql<number>`cast(sum(case when started_at is null or started_at < cast(${window.sinceMs} as bigint)
        or ${played} < 0 then 0 when ${played} > ${sql.lit(MAX_SESSION_PLAY_MS)}
        then ${sql.lit(MAX_SESSION_PLAY_MS)} else ${played} end) as bigint)`.as('play_ms'),
    ])
    .where('user_id', '=', userId)
    .where('state', '!=', 'failed')
    .groupBy('app_id')
    .execute();
  return rows.map((row) => ({ ...row, play_ms: Number(row.play_ms) }));
}

import { nonterminalStates } from '@footlight/protocol';
import type { Placement } from '@footlight/protocol/rest';
import { sql } from 'kysely';
import { type SettingValues, settingsInForce } from '../fleet/index.ts';
import { type Executor, fromJson } from '../platform/database/index.ts';
import type { SessionRow } from './record.ts';

export async function loadSession(db: Executor, id: string): Promise<SessionRow | undefined> {
  return db.selectFrom('sessions').selectAll().where('id', '=', id).executeTakeFirst();
}

export async function loadLiveSessions(db: Executor): Promise<SessionRow[]> {
  return db.selectFrom('sessions').selectAll().where('state', 'in', nonterminalStates).execute();
}

const FOLLOWED_COLUMNS = [
  'id',
  'host_id',
  'state',
  'state_detail',
  'failure_code',
  'stream_bitrate_kbps',
  'stream_launch_floor_kbps',
] as const;
/** Columns that a replica reads when another replica changed the session. */
export type FollowedRow = Pick<SessionRow, (typeof FOLLOWED_COLUMNS)[number]>;

/** @param ids at least one */
export function loadFollowed(db: Executor, ids: readonly string[]): Promise<FollowedRow[]> {
  return db.selectFrom('sessions').select(FOLLOWED_COLUMNS).where('id', 'in', ids).execute();
}

/** Literals, because a partial index is used only for queries that contain its states. */
const LIVE = sql.raw(`(${nonterminalStates.map((state) => `'${state}'`).join(', ')})`);

/** Number of sessions that have not ended, by state; a state without sessions is missing. */
export async function countLiveSessions(db: Executor): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('sessions')
    .select((session) => ['state', session.fn.countAll<number>().as('count')])
    .where(sql<boolean>`state in ${LIVE}`)
    .groupBy('state')
    .execute();
  return new Map(rows.map(({ state, count }) => [state, Number(count)]));
}

/** The newest console session of this host, ended or not. */
export async function loadNewestConsoleSession(
  db: Executor,
  hostId: string,
): Promise<SessionRow | undefined> {
  return (
    db
      .selectFrom('sessions')
      .selectAll()
      .where('host_id', '=', hostId)
      // A literal in the SQL, so that the planner of both dialects uses the partial index.
      .where(sql<boolean>`video_topology <> 'stream_only'`)
      .orderBy('created_at', 'desc')
      .orderBy('id')
      .limit(1)
      .executeTakeFirst()
  );
}

/** Directory of homes on a host; null: not reported. */
export async function loadHostHomeRoot(db: Executor, hostId: string): Promise<string | null> {
  const row = await db
    .selectFrom('hosts')
    .select(['effective_settings', 'settings_overrides'])
    .where('id', '=', hostId)
    .executeTakeFirst();
  if (row === undefined || row.effective_settings === null) return null;
  const reported = fromJson<Record<string, string>>(row.effective_settings);
  return settingsInForce(reported, fromJson<SettingValues>(row.settings_overrides)).home_root ?? null;
}

/** @returns null: the session is unknown or has no stored explanation */
export async function loadPlacement(db: Executor, sessionId: string): Promise<Placement | null> {
  const row = await db
    .selectFrom('session_placements')
    .select('explanation')
    .where('session_id', '=', sessionId)
    .executeTakeFirst();
  return row === undefined ? null : fromJson<Placement>(row.explanation);
}

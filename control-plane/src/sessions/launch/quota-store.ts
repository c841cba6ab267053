/** A session of a user that counts for the quota or uses homes. */
import { quotaStates } from '@footlight/protocol';
import { sql } from 'kysely';
import type { Executor } from '../../platform/database/index.ts';

export interface QuotaSession {
  id: string;
  home_app_id: string | null;
  /** Apps whose homes the session uses: its own app, and the target of a pending swap. */
  home_app_ids: string[];
}

/**
 * Session states that count for the quota, as SQL text, because the partial index is used only for queries that contain
 * its states as literals.
 */
const COUNTING = sql.raw(quotaStates.map((state) => `'${state}'`).join(', '));

/** The app whose home a pending swap claims. */
const swapHome = sql<string | null>`case when swap_state is null then null else swap_home_app_id end`;

function withHomes<Row extends { home_app_id: string | null; swap_home: string | null }>({
  swap_home,
  ...row
}: Row): Omit<Row, 'swap_home'> & { home_app_ids: string[] } {
  return { ...row, home_app_ids: [row.home_app_id, swap_home].filter((home) => home !== null) };
}

/** Number of sessions that count for each user's quota; users without sessions are missing. */
export async function countQuotaSessions(
  db: Executor,
  userIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('sessions')
    .select(['user_id', (eb) => eb.fn.countAll<number>().as('sessions')])
    .where('user_id', 'in', userIds)
    .where(sql<boolean>`state in (${COUNTING})`)
    .groupBy('user_id')
    .execute();
  return new Map(rows.map((row) => [row.user_id, Number(row.sessions)]));
}

/**
 * Sessions of these users that use the home of one of these apps. This is a separate query, because few launches need
 * it.
 */
export async function loadHomeHolders(
  db: Executor,
  userIds: readonly string[],
  appIds: readonly string[],
): Promise<(QuotaSession & { user_id: string })[]> {
  if (appIds.length === 0) return [];
  const rows = await db
    .selectFrom('sessions')
    .select(['id', 'user_id', 'home_app_id'])
    .select(swapHome.as('swap_home'))
    .where('user_id', 'in', userIds)
    .where(sql<boolean>`state in (${COUNTING})`)
    .where((eb) => eb.or([eb('home_app_id', 'in', appIds), eb(swapHome, 'in', appIds)]))
    .orderBy('id')
    .execute();
  return rows.map(withHomes);
}

import type { ActivityQuery } from '@footlight/protocol/rest';
import { type Insertable, type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database, Executor } from '../platform/database/index.ts';
import { containsText, patternOf } from '../platform/database/query/search.ts';
import type { ActivityTable } from '../platform/database/tables/activity.ts';

export type ActivityRow = Selectable<ActivityTable> & { actor_username: string | null };

/** @returns number of the entry */
export async function insertEntry(db: Executor, entry: Insertable<ActivityTable>): Promise<number> {
  return (await db.insertInto('activity').values(entry).returning('id').executeTakeFirstOrThrow()).id;
}

/** Entries that match all filters, newest first. One extra row shows that another page exists. */
export async function listEntries(database: Database, filter: ActivityQuery): Promise<ActivityRow[]> {
  return selectEntries(database, filter).execute();
}

/**
 * The query for one page, exported so that tests can check its query plan. It finds the numbers of the page first,
 * mostly from an index alone, and then reads only these rows with their actors' names.
 */
export function selectEntries(database: Pick<Database, 'db' | 'dialect'>, filter: ActivityQuery) {
  return database.db
    .selectFrom('activity')
    .leftJoin('users', 'users.id', 'activity.actor_user_id')
    .selectAll('activity')
    .select('users.username as actor_username')
    .where('activity.id', 'in', selectNumbers(database, filter))
    .orderBy('activity.id', 'desc');
}

function selectNumbers({ db, dialect }: Pick<Database, 'db' | 'dialect'>, filter: ActivityQuery) {
  let query = db.selectFrom('activity').select('activity.id');
  if (filter.cursor !== undefined) query = query.where('activity.id', '<', filter.cursor);
  if (filter.action) query = query.where(actionStartsWith(filter.action, dialect));
  if (filter.actor_user_id) query = query.where('activity.actor_user_id', '=', filter.actor_user_id);
  if (filter.target_type) query = query.where('activity.target_type', '=', filter.target_type);
  if (filter.target_id) query = query.where('activity.target_id', '=', filter.target_id);
  if (filter.until !== undefined) query = query.where('activity.created_at', '<', filter.until);
  if (filter.since !== undefined) {
    query = query.where('activity.created_at', '>=', filter.since);
    if (dialect === 'sqlite') query = query.where(numberedSince(filter.since));
  }
  if (filter.q) query = query.where(mentions(filter.q, dialect));
  return query.orderBy('activity.id', 'desc').limit(filter.limit + 1);
}

/**
 * Whether an entry has the text in its action, target or actor's name. Actor names are searched once, not per entry.
 * Actions and targets use the database's own case folding, which covers only ASCII on SQLite. Full folding costs ten
 * times as much, and no index can speed up this search on a long table.
 */
function mentions(text: string, dialect: Database['dialect']): RawBuilder<SqlBool> {
  const like = dialect === 'postgres' ? sql`ilike` : sql`like`;
  const pattern = patternOf(text);
  return sql<SqlBool>`(activity.action ${like} ${pattern} escape '\\'
    or activity.target_id ${like} ${pattern} escape '\\'
    or activity.actor_user_id in (select id from users where ${containsText(['users.username'], text)}))`;
}

/**
 * SQLite scans the log by id, from the newest entry backwards. If too few entries match to fill a page, it would read
 * to the start of the log. A lower bound ends the scan: the lowest id since the given time, read from the index on
 * created_at. The plus sign keeps SQLite from finding this bound by the same scan. Postgres chooses the index on
 * created_at from its statistics.
 */
function numberedSince(sinceMs: number): RawBuilder<SqlBool> {
  return sql<SqlBool>`activity.id >= (select min(+id) from activity where created_at >= ${sinceMs})`;
}

/** Prefix + LAST_CHARACTER sorts after every text with this prefix. */
const LAST_CHARACTER = '\u{10FFFF}';

/** Matches a prefix as a range of bytes, because a range uses an index; `like` uses none on either database. */
function actionStartsWith(prefix: string, dialect: Database['dialect']): RawBuilder<SqlBool> {
  const action =
    dialect === 'postgres' ? sql`activity.action collate "C"` : sql`activity.action collate binary`;
  return sql<SqlBool>`${action} >= ${prefix} and ${action} < ${prefix + LAST_CHARACTER}`;
}

import type { ActivityQuery } from '@footlight/protocol/rest';
import { type Insertable, type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database, Executor } from '../platform/database/index.ts';
import { containsText, patternOf } from '../platform/database/query/search.ts';
import type { ActivityTable } from '../platform/database/tables/activity.ts';

export type ActivityRow = Selectable<ActivityTable> & { actor_username: string | null };

export async function insertEntry(db: Executor, entry: Insertable<ActivityTable>): Promise<void> {
  await db.insertInto('activity').values(entry).execute();
}

/** Entries that pass every filter, newest first: one more than the limit, where there is one more. */
export async function listEntries(database: Database, filter: ActivityQuery): Promise<ActivityRow[]> {
  return selectEntries(database, filter).execute();
}

/**
 * The query of a page, so that its plan can be looked at. The numbers of the page are found first, mostly in an index
 * alone; only its own rows are then read and given the names of their actors.
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
  if (filter.since !== undefined) {
    query = query.where('activity.created_at', '>=', filter.since);
    if (dialect === 'sqlite') query = query.where(numberedSince(filter.since));
  }
  if (filter.q) query = query.where(mentions(filter.q, dialect));
  return query.orderBy('activity.id', 'desc').limit(filter.limit + 1);
}

/**
 * Whether an entry has the text in its action, its target or the name of its actor. The names are looked through once
 * and not for each entry. Actions and targets are compared by the database's own rule of case, which on SQLite knows
 * ASCII only and costs a tenth of one that knows more: no index helps here, and the log is long.
 */
function mentions(text: string, dialect: Database['dialect']): RawBuilder<SqlBool> {
  const like = dialect === 'postgres' ? sql`ilike` : sql`like`;
  const pattern = patternOf(text);
  return sql<SqlBool>`(activity.action ${like} ${pattern} escape '\\'
    or activity.target_id ${like} ${pattern} escape '\\'
    or activity.actor_user_id in (select id from users where ${containsText(['users.username'], text)}))`;
}

/**
 * SQLite walks the log backwards by number and would go on to its beginning for a page that does not fill. The lowest
 * number since then, read from the index of times alone, ends the walk. The plus sign keeps it from looking for that
 * number by the same walk. Postgres knows from its statistics when to take the index of times.
 */
function numberedSince(sinceMs: number): RawBuilder<SqlBool> {
  return sql<SqlBool>`activity.id >= (select min(+id) from activity where created_at >= ${sinceMs})`;
}

/** Sorts behind everything that can follow a prefix. */
const LAST_CHARACTER = '\u{10FFFF}';

/** A prefix as a range of bytes, which an index answers; `like` would not use one on either database. */
function actionStartsWith(prefix: string, dialect: Database['dialect']): RawBuilder<SqlBool> {
  const action =
    dialect === 'postgres' ? sql`activity.action collate "C"` : sql`activity.action collate binary`;
  return sql<SqlBool>`${action} >= ${prefix} and ${action} < ${prefix + LAST_CHARACTER}`;
}

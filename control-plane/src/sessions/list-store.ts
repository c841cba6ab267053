import type { SessionStateName } from '@footlight/protocol';
import type { SessionOrder } from '@footlight/protocol/rest';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Executor } from '../platform/database/index.ts';
import { containsText } from '../platform/database/query/search.ts';
import { fittingRows, isAfter, type PageKey } from '../platform/page-cursor.ts';
import { comesAfter, type ListOrder, type SortedKey, sortValue } from './list-order.ts';
import type { AdminNames, SessionRow } from './record.ts';

/** Rows of a page, newest first. One extra row beyond the limit shows that another page exists. */
interface SessionRows {
  rows: SessionRow[];
  /** Maximum rows of this page: the requested number, or fewer if their logs together are too long. */
  limit: number;
}

/** Bytes of a session's log. The databases compute the length without reading the log. */
const logBytes = sql<number>`coalesce(octet_length(sessions.app_log_tail), 0)`.as('bytes');

/** One page of a user's sessions. */
export async function listOwnSessions(
  db: Executor,
  userId: string,
  after: PageKey | null,
  requested: number,
): Promise<SessionRows> {
  let query = db
    .selectFrom('sessions')
    .where('user_id', '=', userId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc');
  if (after !== null) query = query.where(isAfter('sessions', after));
  const limit = fittingRows(requested, await query.select(logBytes).limit(requested).execute());
  const page = query.selectAll().limit(limit + 1);
  return { rows: await page.execute(), limit };
}

export interface AdminFilter {
  /** null: all states. */
  states: readonly SessionStateName[] | null;
  /** Part of a user, app or host name; undefined: all sessions. */
  q: string | undefined;
  /** undefined: the sessions of all hosts. */
  hostId: string | undefined;
}

/**
 * All sessions, joined only with the table by whose names the order sorts. With more joins, SQLite would read the rows
 * of the sessions although an index has all columns that the query needs.
 */
const sessionsFor = (db: Executor, by: SessionOrder) =>
  db
    .selectFrom('sessions')
    .$if(by === 'user', (query) => query.leftJoin('users', 'users.id', 'sessions.user_id'))
    .$if(by === 'app', (query) => query.leftJoin('apps', 'apps.id', 'sessions.app_id'))
    .$if(by === 'host', (query) => query.leftJoin('hosts', 'hosts.id', 'sessions.host_id'));

function matches({ states, q, hostId }: AdminFilter): RawBuilder<SqlBool> {
  const conditions = [sql`true`];
  if (states !== null) conditions.push(isOneOf(states));
  if (hostId !== undefined) conditions.push(sql`sessions.host_id = ${hostId}`);
  // Each name is searched once, and not once for each session that has it.
  if (q !== undefined)
    conditions.push(sql`(sessions.user_id in (select id from users where ${containsText(['users.username'], q)})
      or sessions.app_id in (select id from apps where ${containsText(['apps.name'], q)})
      or sessions.host_id in (select id from hosts where ${containsText(['hosts.node_name'], q)}))`);
  return sql<SqlBool>`${sql.join(conditions, sql` and `)}`;
}

/** The states are literals, because a partial index is used only for queries that contain its states. */
function isOneOf(states: readonly SessionStateName[]): RawBuilder<SqlBool> {
  const literals = states.map((state) => sql.lit(state));
  return literals.length === 1
    ? sql<SqlBool>`sessions.state = ${literals[0]}`
    : sql<SqlBool>`sessions.state in (${sql.join(literals)})`;
}

/** Number of all sessions that match the filter. */
export async function countAllSessions(db: Executor, filter: AdminFilter): Promise<number> {
  const { count } = await db
    .selectFrom('sessions')
    .where(matches(filter))
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

export interface AdminPage {
  rows: (SessionRow & AdminNames)[];
  /** The last session of this page; null: there is no further page. */
  last: SortedKey | null;
}

/**
 * One page of all sessions, with the names of their users, apps and hosts, and the status of the hosts. Sessions with
 * the same value in the order are sorted newest first, and sessions without a value are last.
 */
export async function listAllSessions(
  db: Executor,
  filter: AdminFilter,
  order: ListOrder,
  after: SortedKey | null,
  requested: number,
): Promise<AdminPage> {
  const value = sortValue(order.by);
  let query = sessionsFor(db, order.by).where(matches(filter));
  if (after !== null) query = query.where(comesAfter(order, after));
  if (order.by !== 'created')
    query = query.orderBy(value, (by) => (order.reverse ? by.desc() : by.asc()).nullsLast());
  const direction = order.by === 'created' && !order.reverse ? 'asc' : 'desc';
  // An order reads all sessions of the filter, so this query selects only columns that an index has.
  const found = await query
    .select(['sessions.id', 'sessions.created_at', value.as('value')])
    .orderBy('sessions.created_at', direction)
    .orderBy('sessions.id', direction)
    .limit(requested + 1)
    .execute();
  const fitting = await fittingSessions(db, found.slice(0, requested));
  const shown = found.slice(0, fitting);
  if (shown.length === 0) return { rows: [], last: null };
  const ids = shown.map(({ id }) => id);
  const rows = await db
    .selectFrom('sessions')
    .leftJoin('users', 'users.id', 'sessions.user_id')
    .leftJoin('apps', 'apps.id', 'sessions.app_id')
    .leftJoin('hosts', 'hosts.id', 'sessions.host_id')
    .selectAll('sessions')
    .select([
      'users.username as username',
      'apps.name as app_name',
      'hosts.node_name as host_name',
      'hosts.status as host_status',
    ])
    .where('sessions.id', 'in', ids)
    .execute();
  const places = new Map(ids.map((id, place) => [id, place]));
  rows.sort((one, other) => (places.get(one.id) ?? 0) - (places.get(other.id) ?? 0));
  return { rows, last: found.length > shown.length ? (shown.at(-1) ?? null) : null };
}

/** Number of these sessions, from the first, whose logs fit into one page. */
async function fittingSessions(db: Executor, sessions: readonly { id: string }[]): Promise<number> {
  if (sessions.length === 0) return 0;
  const ids = sessions.map(({ id }) => id);
  const logs = await db.selectFrom('sessions').select(['id', logBytes]).where('id', 'in', ids).execute();
  const bytes = new Map(logs.map((log) => [log.id, log.bytes]));
  return fittingRows(
    ids.length,
    ids.map((id) => ({ bytes: bytes.get(id) ?? 0 })),
  );
}

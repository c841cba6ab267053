import type { SessionStateName } from '@footlight/protocol';
import { sql } from 'kysely';
import type { Executor } from '../platform/database/index.ts';
import { containsText } from '../platform/database/query/search.ts';
import { fittingRows, isAfter, type PageKey } from '../platform/page-cursor.ts';
import type { AdminNames, SessionRow } from './record.ts';

/** Rows of a page, newest first. One extra row beyond the limit shows that another page exists. */
export interface SessionRows<Row = SessionRow> {
  rows: Row[];
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

/** One page of all sessions, with the names of their users, apps and hosts, and the status of the hosts. */
export async function listAllSessions(
  db: Executor,
  { states, q, hostId }: AdminFilter,
  after: PageKey | null,
  requested: number,
): Promise<SessionRows<SessionRow & AdminNames>> {
  const named = db
    .selectFrom('sessions')
    .leftJoin('users', 'users.id', 'sessions.user_id')
    .leftJoin('apps', 'apps.id', 'sessions.app_id')
    .leftJoin('hosts', 'hosts.id', 'sessions.host_id')
    .orderBy('sessions.created_at', 'desc')
    .orderBy('sessions.id', 'desc');
  let query = named;
  if (states !== null) query = query.where('sessions.state', 'in', states);
  if (hostId !== undefined) query = query.where('sessions.host_id', '=', hostId);
  if (q !== undefined)
    query = query.where(containsText(['users.username', 'apps.name', 'hosts.node_name'], q));
  if (after !== null) query = query.where(isAfter('sessions', after));
  // A search reads the whole table, so it runs only once and returns the ids.
  const found = await query
    .select(['sessions.id', logBytes])
    .limit(requested + 1)
    .execute();
  const limit = fittingRows(requested, found.slice(0, requested));
  const ids = found.slice(0, limit + 1).map(({ id }) => id);
  if (ids.length === 0) return { rows: [], limit };
  const page = named
    .selectAll('sessions')
    .select([
      'users.username as username',
      'apps.name as app_name',
      'hosts.node_name as host_name',
      'hosts.status as host_status',
    ])
    .where('sessions.id', 'in', ids);
  return { rows: await page.execute(), limit };
}

import { nonterminalStates, quotaStates, reservingStates } from '@footlight/protocol';
import type { Placement } from '@footlight/protocol/rest';
import { sql } from 'kysely';
import { type SettingValues, settingsInForce } from '../fleet/index.ts';
import {
  type Executor,
  flag,
  fromJson,
  insertStatement,
  lockRows,
  statement,
  type Tx,
  toJson,
} from '../platform/database/index.ts';
import { containsText } from '../platform/database/query/search.ts';
import type { SessionsTable } from '../platform/database/tables/sessions.ts';
import { isAfter, type PageKey } from '../platform/page-cursor.ts';
import { DETAIL, type Ending, type LateFields, type SessionStateName, type SwapStep } from './life/state.ts';
import type { AdminNames, SessionRow } from './record.ts';

/** Parameters of a prepared statement without list values. */
type NoLists = Record<never, never>;

export async function loadSession(db: Executor, id: string): Promise<SessionRow | undefined> {
  return db.selectFrom('sessions').selectAll().where('id', '=', id).executeTakeFirst();
}

/** The row if the user owns it. Another person's id and an unknown id give the same result. */
export async function loadOwnSession(
  db: Executor,
  id: string,
  userId: string,
): Promise<SessionRow | undefined> {
  return db
    .selectFrom('sessions')
    .selectAll()
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst();
}

/** Columns that life-cycle decisions read. */
const LIFE_COLUMNS = [
  'id',
  'user_id',
  'host_id',
  'gpu_id',
  'encode_slots',
  'home_app_id',
  'state',
  'state_detail',
  'stop_reason',
  'started_at',
  'end_reason',
  'failure_code',
  'app_log_tail',
  'home_bytes',
  'swap_app_id',
  'swap_home_app_id',
  'swap_state',
] as const;
export type LifeRow = Pick<SessionRow, (typeof LIFE_COLUMNS)[number]>;

const livesById = statement((db, { ids }: { ids: readonly string[] }) =>
  db.selectFrom('sessions').select(LIFE_COLUMNS).where('id', 'in', ids),
);

export async function loadLives(db: Executor, ids: readonly string[]): Promise<LifeRow[]> {
  return ids.length === 0 ? [] : livesById(db, { ids }, {});
}

export async function loadLiveSessions(db: Executor): Promise<SessionRow[]> {
  return db.selectFrom('sessions').selectAll().where('state', 'in', nonterminalStates).execute();
}

const livesOfHost = statement((db, _lists: NoLists, { hostId }: { hostId: string }) =>
  db
    .selectFrom('sessions')
    .select(LIFE_COLUMNS)
    .where('host_id', '=', hostId)
    .where('state', 'in', nonterminalStates)
    .orderBy('created_at')
    .orderBy('id'),
);

/** Non-final sessions of a host, oldest first. */
export function loadLivesOfHost(db: Executor, hostId: string): Promise<LifeRow[]> {
  return livesOfHost(db, {}, { hostId });
}

/** The newest console session of this host, ended or not. */
export async function loadNewestBesideHost(db: Executor, hostId: string): Promise<SessionRow | undefined> {
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

export async function countSessionsOfHost(
  db: Executor,
  hostId: string,
  states: readonly SessionStateName[],
): Promise<number> {
  const row = await db
    .selectFrom('sessions')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('host_id', '=', hostId)
    .where('state', 'in', states)
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

export interface QuotaSession {
  id: string;
  home_app_id: string | null;
  /** Apps whose homes the session holds: its own, and the target of a swap. */
  home_app_ids: string[];
}

/**
 * Session states that count for the quota, as text: the partial index serves only queries that name its states
 * literally.
 */
const COUNTING = sql.raw(quotaStates.map((state) => `'${state}'`).join(', '));

/** The app whose home a pending swap claims. */
const swapHome = sql<string | null>`case when swap_state is null then null else swap_home_app_id end`;

/** Sessions of a user that count for the quota or hold homes. */
export async function loadQuotaSessions(db: Executor, userId: string): Promise<QuotaSession[]> {
  const rows = await db
    .selectFrom('sessions')
    .select(['id', 'home_app_id'])
    .select(swapHome.as('swap_home'))
    .where('user_id', '=', userId)
    .where(sql<boolean>`state in (${COUNTING})`)
    .orderBy('created_at')
    .execute();
  return rows.map(({ id, home_app_id, swap_home }) => ({
    id,
    home_app_id,
    home_app_ids: [home_app_id, swap_home].filter((home) => home !== null),
  }));
}

const quotaCounts = statement((db, { userIds }: { userIds: readonly string[] }) =>
  db
    .selectFrom('sessions')
    .select(['user_id', (eb) => eb.fn.countAll<number>().as('sessions')])
    .where('user_id', 'in', userIds)
    .where(sql<boolean>`state in (${COUNTING})`)
    .groupBy('user_id'),
);

/** Number of sessions that count for each user's quota; users without sessions are missing. */
export async function countQuotaSessions(
  db: Executor,
  userIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await quotaCounts(db, { userIds }, {});
  return new Map(rows.map((row) => [row.user_id, Number(row.sessions)]));
}

/** Sessions of these users that hold the home of one of these apps. Separate, because few launches need it. */
export async function loadHomeHolders(
  db: Executor,
  userIds: readonly string[],
  appIds: readonly string[],
): Promise<(Pick<QuotaSession, 'id' | 'home_app_ids'> & { user_id: string })[]> {
  if (appIds.length === 0) return [];
  const rows = await homeHolders(db, { userIds, appIds }, {});
  return rows.map(({ id, user_id, home_app_id, swap_home }) => ({
    id,
    user_id,
    home_app_ids: [home_app_id, swap_home].filter((home) => home !== null),
  }));
}

const homeHolders = statement(
  (db, { userIds, appIds }: { userIds: readonly string[]; appIds: readonly string[] }) =>
    db
      .selectFrom('sessions')
      .select(['id', 'user_id', 'home_app_id'])
      .select(swapHome.as('swap_home'))
      .where('user_id', 'in', userIds)
      .where(sql<boolean>`state in (${COUNTING})`)
      .where((eb) => eb.or([eb('home_app_id', 'in', appIds), eb(swapHome, 'in', appIds)]))
      .orderBy('id'),
);

/** Stores a swap if the session runs without another swap. @returns whether it was stored */
export async function beginSwap(
  tx: Tx,
  id: string,
  target: { app_id: string; home_app_id: string | null },
  nowMs: number,
): Promise<boolean> {
  const result = await tx
    .updateTable('sessions')
    .set({
      swap_app_id: target.app_id,
      swap_home_app_id: target.home_app_id,
      swap_state: 'asked',
      state_detail: DETAIL.swapping,
      updated_at: nowMs,
    })
    .where('id', '=', id)
    .where('state', '=', 'running')
    .where('swap_state', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Stores that the agent acknowledged the swap, unless the swap is over. */
export async function noteSwapTaken(db: Executor, id: string, appId: string): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ swap_state: 'taken' })
    .where('id', '=', id)
    .where('swap_app_id', '=', appId)
    .where('swap_state', '=', 'asked')
    .execute();
}

/** Stores the result of a pending swap. @returns whether one was pending */
export async function settleSwap(tx: Tx, id: string, step: SwapStep, nowMs: number): Promise<boolean> {
  const result = await tx
    .updateTable('sessions')
    .set({
      ...(step.app !== null && { app_id: step.app.app_id, home_app_id: step.app.home_app_id }),
      ...(!step.may_complete && { swap_app_id: null, swap_home_app_id: null }),
      swap_state: null,
      state_detail: step.state_detail,
      updated_at: nowMs,
    })
    .where('id', '=', id)
    .where('state', '=', 'running')
    .where('swap_app_id', '=', step.target)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Which of these sessions are on a host, in any state. @param ids at least one */
export async function sessionsOnHost(
  db: Executor,
  hostId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await db
    .selectFrom('sessions')
    .select('id')
    .where('id', 'in', ids)
    .where('host_id', '=', hostId)
    .execute();
  return new Set(rows.map(({ id }) => id));
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

const insertRows = insertStatement('sessions');
const insertPlacements = insertStatement('session_placements');

/** Inserts sessions with the explanations of their placement. */
export async function insertSessions(
  tx: Tx,
  sessions: readonly { row: SessionsTable; explanation: Placement }[],
): Promise<void> {
  await Promise.all([
    insertRows(
      tx,
      sessions.map(({ row }) => row),
    ),
    insertPlacements(
      tx,
      sessions.map(({ row, explanation }) => ({ session_id: row.id, explanation: toJson(explanation) })),
    ),
  ]);
}

/** @returns null: unknown session, or no stored explanation */
export async function loadPlacement(db: Executor, sessionId: string): Promise<Placement | null> {
  const row = await db
    .selectFrom('session_placements')
    .select('explanation')
    .where('session_id', '=', sessionId)
    .executeTakeFirst();
  return row === undefined ? null : fromJson<Placement>(row.explanation);
}

/**
 * Moves a session if it is still in the decided state.
 * @returns whether this call moved it
 */
export async function moveSession(
  tx: Tx,
  id: string,
  from: SessionStateName,
  to: SessionStateName,
  set: Partial<Pick<SessionsTable, 'state_detail' | 'stop_reason' | 'started_at' | 'relay_ready'>>,
  nowMs: number,
): Promise<boolean> {
  const result = await tx
    .updateTable('sessions')
    .set({ ...set, state: to, updated_at: nowMs })
    .where('id', '=', id)
    .where('state', '=', from)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

const writeDetail = statement(
  (
    db,
    { ids }: { ids: readonly string[] },
    values: { state: SessionStateName; detail: string; relayReady: number; nowMs: number },
  ) =>
    db
      .updateTable('sessions')
      .set({
        state_detail: values.detail,
        updated_at: values.nowMs,
        relay_ready: sql<0 | 1>`case when ${values.relayReady} = 1 then 1 else relay_ready end`,
      })
      .where('id', 'in', ids)
      .where('state', '=', values.state)
      .returning('id'),
);

/** Changes the text of the sessions that are still in the given state. @returns their ids */
export async function setDetail(
  tx: Executor,
  ids: readonly string[],
  state: SessionStateName,
  detail: string,
  relayReady: boolean,
  nowMs: number,
): Promise<string[]> {
  const rows = await writeDetail(tx, { ids }, { state, detail, relayReady: flag(relayReady), nowMs });
  return rows.map(({ id }) => id);
}

/** Changes the text of sessions that are still in the state that was read. */
export async function setDetails(
  tx: Tx,
  rows: readonly Pick<LifeRow, 'id' | 'state'>[],
  detail: string,
  nowMs: number,
): Promise<void> {
  for (const state of new Set(rows.map((row) => row.state))) {
    const ids = rows.filter((row) => row.state === state).map(({ id }) => id);
    await setDetail(tx, ids, state, detail, false, nowMs);
  }
}

/**
 * Stores the codec that a live session's viewer receives, if it changed.
 * @returns whether it changed
 */
export async function setNegotiatedCodec(
  db: Executor,
  id: string,
  hostId: string,
  codec: string,
  nowMs: number,
): Promise<boolean> {
  const result = await db
    .updateTable('sessions')
    .set({ negotiated_codec: codec, updated_at: nowMs })
    .where('id', '=', id)
    .where('host_id', '=', hostId)
    .where('state', 'in', nonterminalStates)
    .where((eb) => eb.or([eb('negotiated_codec', 'is', null), eb('negotiated_codec', '!=', codec)]))
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/**
 * Ends a session if it is still in the decided state, and frees its encode slots in the same transaction. Only the
 * call that wins this update frees them.
 * @returns whether this call ended it
 */
export async function endSession(tx: Tx, row: LifeRow, ending: Ending, nowMs: number): Promise<boolean> {
  const holdsSlots = row.gpu_id !== null && row.state !== 'pending';
  // Lock the GPU before the session (docs/database.md, "Lock order").
  if (holdsSlots) await lockRows(tx, { gpus: [row.gpu_id as string] });
  const result = await tx
    .updateTable('sessions')
    .set({
      state: ending.to,
      ...(ending.state_detail !== null && { state_detail: ending.state_detail }),
      error_message: ending.error_message,
      failure_code: ending.failure_code,
      end_reason: ending.end_reason,
      app_log_tail: ending.app_log_tail,
      swap_app_id: null,
      swap_home_app_id: null,
      swap_state: null,
      ...(ending.home_bytes !== null && { home_bytes: ending.home_bytes }),
      ended_at: nowMs,
      updated_at: nowMs,
    })
    .where('id', '=', row.id)
    .where('state', '=', row.state)
    .executeTakeFirst();
  if (result.numUpdatedRows === 0n) return false;
  if (holdsSlots) await releaseSlots(tx, row.gpu_id as string, row.encode_slots);
  return true;
}

async function releaseSlots(tx: Tx, gpuId: string, slots: number): Promise<void> {
  const left = sql<number>`case when slots_used > ${slots} then slots_used - ${slots} else 0 end`;
  await tx
    .updateTable('gpus')
    .set({
      slots_used: left,
      sessions_active: sql<number>`case when sessions_active > 0 then sessions_active - 1 else 0 end`,
      // A capacity report may have lowered slots_total below the booked slots; the guard shrinks with the remaining
      // bookings.
      slots_guard: sql<number>`case when ${left} > slots_total then ${left} else slots_total end`,
    })
    .where('id', '=', gpuId)
    .execute();
}

/** Fills empty fields of a final row. Each field is set only while null, so a repeat changes nothing. */
export async function setLateFields(tx: Executor, id: string, fields: LateFields): Promise<boolean> {
  const given = Object.entries(fields) as [keyof LateFields, string | number][];
  if (given.length === 0) return false;
  const result = await tx
    .updateTable('sessions')
    .set(
      Object.fromEntries(
        given.map(([column, value]) => [column, sql`coalesce(${sql.ref(column)}, ${value})`]),
      ),
    )
    .where('id', '=', id)
    .where((eb) => eb.or(given.map(([column]) => eb(column, 'is', null))))
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

type DetailOfHost = { hostId: string; detail: string; nowMs: number };

const writeDetailOfHost = statement((db, _lists: NoLists, { hostId, detail, nowMs }: DetailOfHost) =>
  db
    .updateTable('sessions')
    .set({ state_detail: detail, updated_at: nowMs })
    .where('host_id', '=', hostId)
    .where('state', 'in', nonterminalStates)
    .returning('id'),
);

const replaceDetailOfHost = statement(
  (db, _lists: NoLists, { hostId, detail, replaces, nowMs }: DetailOfHost & { replaces: string }) =>
    db
      .updateTable('sessions')
      .set({ state_detail: detail, updated_at: nowMs })
      .where('host_id', '=', hostId)
      .where('state', 'in', nonterminalStates)
      .where('state_detail', '=', replaces)
      .returning('id'),
);

/**
 * Sets one text on all non-final sessions of a host.
 * @param replaces only rows with this text; null = all rows
 * @returns their ids
 */
export async function setDetailOfHost(
  db: Executor,
  hostId: string,
  detail: string,
  replaces: string | null,
  nowMs: number,
): Promise<string[]> {
  const values = { hostId, detail, nowMs };
  const rows = await (replaces === null
    ? writeDetailOfHost(db, {}, values)
    : replaceDetailOfHost(db, {}, { ...values, replaces }));
  return rows.map((row) => row.id);
}

export async function deleteSessionsOfHost(tx: Tx, hostId: string): Promise<void> {
  await tx.deleteFrom('sessions').where('host_id', '=', hostId).execute();
}

/** Sessions and slots of each GPU of these hosts. */
export async function loadLoads(
  db: Executor,
  hostIds: readonly string[],
): Promise<{ host_id: string; gpu_id: string | null; active_sessions: number }[]> {
  if (hostIds.length === 0) return [];
  const rows = await db
    .selectFrom('sessions')
    .select(['host_id', 'gpu_id'])
    .select((eb) => eb.fn.countAll<number>().as('active_sessions'))
    .where('host_id', 'in', hostIds)
    .where('state', 'in', reservingStates)
    .groupBy(['host_id', 'gpu_id'])
    .execute();
  return rows.map((row) => ({
    host_id: row.host_id as string,
    gpu_id: row.gpu_id,
    active_sessions: Number(row.active_sessions),
  }));
}

/** One page of a user's sessions, newest first. One extra row shows that another page exists. */
export async function listOwnSessions(
  db: Executor,
  userId: string,
  after: PageKey | null,
  limit: number,
): Promise<SessionRow[]> {
  let query = db.selectFrom('sessions').selectAll().where('user_id', '=', userId);
  if (after !== null) query = query.where(isAfter('sessions', after));
  return query
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute();
}

export interface AdminFilter {
  /** null = all states. */
  states: readonly SessionStateName[] | null;
  /** Part of a user, app or host name; undefined = all. */
  q: string | undefined;
}

/** One page of all sessions with referenced names, newest first. One extra row shows that another page exists. */
export async function listAllSessions(
  db: Executor,
  filter: AdminFilter,
  after: PageKey | null,
  limit: number,
): Promise<(SessionRow & AdminNames)[]> {
  let query = db
    .selectFrom('sessions')
    .leftJoin('users', 'users.id', 'sessions.user_id')
    .leftJoin('apps', 'apps.id', 'sessions.app_id')
    .leftJoin('hosts', 'hosts.id', 'sessions.host_id')
    .selectAll('sessions')
    .select(['users.username as username', 'apps.name as app_name', 'hosts.node_name as host_name']);
  const { states, q } = filter;
  if (states !== null) query = query.where('sessions.state', 'in', states);
  if (q !== undefined)
    query = query.where(containsText(['users.username', 'apps.name', 'hosts.node_name'], q));
  if (after !== null) query = query.where(isAfter('sessions', after));
  return query
    .orderBy('sessions.created_at', 'desc')
    .orderBy('sessions.id', 'desc')
    .limit(limit + 1)
    .execute();
}

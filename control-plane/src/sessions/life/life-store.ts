/** Reads and writes the life cycle of sessions: state, text, end and freed slots. */
import {
  nonterminalStates,
  reservesSlots,
  reservingStates,
  type SessionStateName,
} from '@footlight/protocol';
import { sql } from 'kysely';
import { type Executor, flag, lockRows, type Tx } from '../../platform/database/index.ts';
import type { SessionsTable } from '../../platform/database/tables/sessions.ts';
import { releaseSlots } from '../placement/slots-store.ts';
import type { SessionRow } from '../record.ts';
import type { Ending, LateFields } from './state.ts';

/** Columns that life-cycle decisions read. */
const LIFE_COLUMNS = [
  'id',
  'user_id',
  'app_id',
  'host_id',
  'gpu_id',
  'encode_slots',
  'home_app_id',
  'state',
  'state_detail',
  'stop_reason',
  'created_at',
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

export async function loadLives(db: Executor, ids: readonly string[]): Promise<LifeRow[]> {
  return ids.length === 0
    ? []
    : db.selectFrom('sessions').select(LIFE_COLUMNS).where('id', 'in', ids).execute();
}

/** Non-final sessions of hosts, oldest first. */
export async function loadLivesOfHosts(db: Executor, hostIds: readonly string[]): Promise<LifeRow[]> {
  return hostIds.length === 0
    ? []
    : db
        .selectFrom('sessions')
        .select(LIFE_COLUMNS)
        .where('host_id', 'in', hostIds)
        .where('state', 'in', nonterminalStates)
        .orderBy('created_at')
        .orderBy('id')
        .execute();
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

/** Finds which of these sessions are on a host, in any state. @param ids at least one */
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

/**
 * Changes the state of a session, if it is still in the state on which the decision is based.
 * @returns whether this call changed it
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

/** Changes the text of the sessions that are still in the given state. @returns their ids */
export async function setDetail(
  tx: Executor,
  ids: readonly string[],
  state: SessionStateName,
  detail: string,
  relayReady: boolean,
  nowMs: number,
): Promise<string[]> {
  const rows = await tx
    .updateTable('sessions')
    .set({ state_detail: detail, updated_at: nowMs, ...(relayReady ? { relay_ready: flag(true) } : {}) })
    .where('id', 'in', ids)
    .where('state', '=', state)
    .returning('id')
    .execute();
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
 * @param hostId the host that reports the codec; null: the viewer itself reports it
 * @returns whether the stored codec changed
 */
export async function setNegotiatedCodec(
  db: Executor,
  id: string,
  hostId: string | null,
  codec: string,
  nowMs: number,
): Promise<boolean> {
  let update = db
    .updateTable('sessions')
    .set({ negotiated_codec: codec, updated_at: nowMs })
    .where('id', '=', id);
  if (hostId !== null) update = update.where('host_id', '=', hostId);
  const result = await update
    .where('state', 'in', nonterminalStates)
    .where((eb) => eb.or([eb('negotiated_codec', 'is', null), eb('negotiated_codec', '!=', codec)]))
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/**
 * Ends a session if it is still in the state on which the decision is based, and frees its encode slots in the same
 * transaction. Of concurrent calls only one updates the row and frees the slots.
 * @returns whether this call ended it
 */
export async function endSession(tx: Tx, row: LifeRow, ending: Ending, nowMs: number): Promise<boolean> {
  const holdsSlots = row.gpu_id !== null && reservesSlots(row.state);
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

/**
 * Sets one text on all non-final sessions of a host.
 * @param replaces only rows with this text; null: all rows
 * @returns their ids
 */
export async function setDetailOfHost(
  db: Executor,
  hostId: string,
  detail: string,
  replaces: string | null,
  nowMs: number,
): Promise<string[]> {
  const rows = await db
    .updateTable('sessions')
    .set({ state_detail: detail, updated_at: nowMs })
    .where('host_id', '=', hostId)
    .where('state', 'in', nonterminalStates)
    .$if(replaces !== null, (query) => query.where('state_detail', '=', replaces))
    .returning('id')
    .execute();
  return rows.map((row) => row.id);
}

export async function deleteSessionsOfHost(tx: Tx, hostId: string): Promise<void> {
  await tx.deleteFrom('sessions').where('host_id', '=', hostId).execute();
}

/** Number of sessions that reserve slots, for each GPU of these hosts. */
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

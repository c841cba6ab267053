import { nonterminalStates } from '@footlight/protocol';
import { PostgresAdapter, sql } from 'kysely';
import type { Tx } from '../database.ts';

/** Ids of rows to lock, and hosts whose GPUs or live sessions are all locked. */
export interface RowsToLock {
  hosts?: readonly string[];
  gpus?: readonly string[];
  gpusOfHosts?: readonly string[];
  sessions?: readonly string[];
  /**
   * Also locks the GPUs of these hosts: a launch locks a GPU, so no session can be added until the transaction ends.
   */
  sessionsOfHosts?: readonly string[];
}

/**
 * Locks the rows that a transaction will change, in the common order, because different orders can deadlock. Call this
 * before the first write. SQLite needs no row locks, because its transaction has the only write lock.
 */
export async function lockRows(tx: Tx, rows: RowsToLock): Promise<void> {
  if (!(tx.getExecutor().adapter instanceof PostgresAdapter)) return;
  const { hosts = [], sessions = [], sessionsOfHosts = [], gpus = [], gpusOfHosts = [] } = rows;
  if (hosts.length > 0)
    await tx
      .selectFrom('hosts')
      .select('id')
      .where('id', 'in', hosts)
      .orderBy('id')
      .forNoKeyUpdate()
      .execute();
  if (gpus.length + gpusOfHosts.length > 0)
    await tx
      .selectFrom('gpus')
      .select('id')
      .where((eb) => eb.or([eb('id', 'in', orNone(gpus)), eb('host_id', 'in', orNone(gpusOfHosts))]))
      .orderBy('id')
      .forNoKeyUpdate()
      .execute();
  if (sessions.length + sessionsOfHosts.length > 0)
    await tx
      .selectFrom('sessions')
      .select('id')
      .where((eb) =>
        eb.or([
          eb('id', 'in', orNone(sessions)),
          eb.and([eb('host_id', 'in', orNone(sessionsOfHosts)), eb('state', 'in', nonterminalStates)]),
        ]),
      )
      .orderBy('id')
      .forNoKeyUpdate()
      .execute();
}

/** SQL allows no empty list, so an id that no row has is used instead. */
const orNone = (ids: readonly string[]): readonly string[] => (ids.length === 0 ? [''] : ids);

/** Merges several sets of rows to lock. */
export function joinRows(all: readonly RowsToLock[]): RowsToLock {
  const of = (key: keyof RowsToLock): string[] => [...new Set(all.flatMap((rows) => rows[key] ?? []))];
  return {
    hosts: of('hosts'),
    sessions: of('sessions'),
    sessionsOfHosts: of('sessionsOfHosts'),
    gpus: of('gpus'),
    gpusOfHosts: of('gpusOfHosts'),
  };
}

/**
 * Tables with rows that are deleted or changed together with a deleted row, by cascades or by code. In lock order; each
 * entry has the key columns and the referring columns.
 */
const REFERRING = {
  users: [
    ['devices', ['id'], ['user_id']],
    ['auth_tokens', ['id'], ['user_id']],
    ['entitlements', ['id'], ['subject_id']],
    ['favourites', ['user_id', 'app_id'], ['user_id']],
    ['storage_homes', ['id'], ['user_id']],
    ['sessions', ['id'], ['user_id']],
    ['job_runs', ['id'], ['actor_user_id']],
  ],
  devices: [
    ['auth_tokens', ['id'], ['device_id']],
    ['sessions', ['id'], ['device_id']],
  ],
  apps: [
    ['entitlements', ['id'], ['app_id']],
    ['favourites', ['user_id', 'app_id'], ['app_id']],
    ['storage_homes', ['id'], ['app_id']],
    ['sessions', ['id'], ['app_id', 'swap_app_id']],
  ],
  hosts: [
    ['gpus', ['id'], ['host_id']],
    ['storage_homes', ['id'], ['host_id']],
    ['sessions', ['id'], ['host_id']],
    ['job_runs', ['id'], ['host_id']],
  ],
} as const;

/**
 * Locks rows before their deletion, after all rows that refer to them: a cascade locks rows in any order, which can
 * deadlock with another transaction that waits for the deleted row. After this call no new reference is possible, so
 * check afterwards whether the rows may be deleted.
 */
export async function lockForRemoval(
  tx: Tx,
  table: keyof typeof REFERRING,
  ids: readonly string[],
): Promise<void> {
  if (!(tx.getExecutor().adapter instanceof PostgresAdapter) || ids.length === 0) return;
  const list = sql.join(ids);
  const rows = sql`select id from ${sql.table(table)} where id in (${list}) order by id`;
  await sql`${rows} for no key update`.execute(tx);
  for (const [referring, key, columns] of REFERRING[table]) {
    const refers = columns.map((column) => sql`${sql.ref(column)} in (${list})`);
    const order = sql.join(key.map((column) => sql.ref(column)));
    await sql`select 1 from ${sql.table(referring)} where ${sql.join(refers, sql` or `)} order by ${order}
      for no key update`.execute(tx);
  }
  await sql`${rows} for update`.execute(tx);
  // Deleting an account also deletes the stored changes of its app list, which catalog writers delete too, so both lock
  // this row. It is locked last: a writer that already has it may wait for the account, and the locks above wait for
  // that writer.
  if (table === 'users')
    await sql`select id from ${sql.table('catalog_version')} for no key update`.execute(tx);
}

import { nonterminalStates } from '@footlight/protocol';
import { PostgresAdapter, sql } from 'kysely';
import type { Tx } from '../database.ts';
import { statement } from '../query/statements.ts';

/** Rows by id, and all GPUs or all live sessions of hosts. */
export interface RowsToLock {
  hosts?: readonly string[];
  gpus?: readonly string[];
  gpusOfHosts?: readonly string[];
  sessions?: readonly string[];
  /** Also locks the GPUs of these hosts: a launch locks a GPU, so no session is added until the transaction ends. */
  sessionsOfHosts?: readonly string[];
}

type NoValues = Record<never, never>;
type Ids = { ids: readonly string[] };
type IdsOrHosts = Ids & { hosts: readonly string[] };

const hostLocks = statement((db, { ids }: Ids, _values: NoValues, { forNoKeyUpdate }) =>
  forNoKeyUpdate(db.selectFrom('hosts').select('id').where('id', 'in', ids).orderBy('id')),
);

const sessionLocks = statement((db, { ids, hosts }: IdsOrHosts, _values: NoValues, { forNoKeyUpdate }) =>
  forNoKeyUpdate(
    db
      .selectFrom('sessions')
      .select('id')
      .where((eb) =>
        eb.or([
          eb('id', 'in', ids),
          eb.and([eb('host_id', 'in', hosts), eb('state', 'in', nonterminalStates)]),
        ]),
      )
      .orderBy('id'),
  ),
);

const gpuLocks = statement((db, { ids, hosts }: IdsOrHosts, _values: NoValues, { forNoKeyUpdate }) =>
  forNoKeyUpdate(
    db
      .selectFrom('gpus')
      .select('id')
      .where((eb) => eb.or([eb('id', 'in', ids), eb('host_id', 'in', hosts)]))
      .orderBy('id'),
  ),
);

/** SQL allows no empty list. No row has this id. */
const orNone = (ids: readonly string[]): readonly string[] => (ids.length === 0 ? [''] : ids);

/**
 * Locks the rows that a transaction will change, in the common order, because different orders deadlock. Call before
 * the first write. One round trip. SQLite needs no locks: its transaction holds the only write lock.
 */
export async function lockRows(tx: Tx, rows: RowsToLock): Promise<void> {
  if (!(tx.getExecutor().adapter instanceof PostgresAdapter)) return;
  const { hosts = [], sessions = [], sessionsOfHosts = [], gpus = [], gpusOfHosts = [] } = rows;
  const locked: Promise<unknown>[] = [];
  if (hosts.length > 0) locked.push(hostLocks(tx, { ids: hosts }, {}));
  if (gpus.length + gpusOfHosts.length > 0)
    locked.push(gpuLocks(tx, { ids: orNone(gpus), hosts: orNone(gpusOfHosts) }, {}));
  if (sessions.length + sessionsOfHosts.length > 0)
    locked.push(sessionLocks(tx, { ids: orNone(sessions), hosts: orNone(sessionsOfHosts) }, {}));
  await Promise.all(locked);
}

/** The union of the rows. */
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
 * Tables whose rows are deleted or changed with a deleted row, by cascades or by code, in lock order, with key and
 * referring columns.
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
 * deadlock with a holder that waits for the deleted row. After this call no new reference is possible, so check
 * afterwards whether the rows may be deleted.
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
  // Deleting an account also deletes the notes of changes to its app list, which catalog writers delete too. Last: a
  // writer that refers to the account waits for this row, and the lock above for that writer.
  if (table === 'users')
    await sql`select id from ${sql.table('catalog_version')} for no key update`.execute(tx);
}

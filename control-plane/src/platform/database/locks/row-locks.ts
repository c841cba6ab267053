import { nonterminalStates } from '@footlight/protocol';
import { PostgresAdapter, sql } from 'kysely';
import type { Tx } from '../database.ts';
import { statement } from '../query/statements.ts';

/** Rows by their ids, and all GPUs or all sessions that have not ended of hosts. */
export interface RowsToLock {
  hosts?: readonly string[];
  gpus?: readonly string[];
  gpusOfHosts?: readonly string[];
  sessions?: readonly string[];
  /** Lock the GPUs of these hosts too: a launch holds one, so no session is added until the transaction ends. */
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

/** A statement takes no empty list. No row has this id. */
const orNone = (ids: readonly string[]): readonly string[] => (ids.length === 0 ? [''] : ids);

/**
 * Locks the rows that a transaction is about to change, in the order that all transactions keep: two transactions that
 * change the same rows in different orders would end in a deadlock. Call before the first write. One round trip.
 * SQLite needs nothing: its transaction holds the only write lock.
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

/** All rows that any of them asks for, each once. */
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
 * Tables with rows that go or change with a row that is deleted, by the schema's cascades or by hand, in the order in
 * which they are locked, each with its key and the columns that refer to the row.
 */
const REFERRING = {
  users: [
    ['devices', ['id'], ['user_id']],
    ['auth_tokens', ['id'], ['user_id']],
    ['entitlements', ['id'], ['subject_id']],
    ['favourites', ['user_id', 'app_id'], ['user_id']],
    ['storage_homes', ['id'], ['user_id']],
    ['sessions', ['id'], ['user_id']],
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
  ],
} as const;

/**
 * Locks rows that are about to be deleted, after everything that refers to them: a cascade takes its rows in any order,
 * and who holds one of them may be waiting for the row that goes. From here on nobody begins to refer to the rows, so
 * check after it whether they may go.
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
  // Removing an account also removes the notes of changes to its list, which writers of the catalog delete too.
  if (table === 'users')
    await sql`select id from ${sql.table('catalog_version')} for no key update`.execute(tx);
  await sql`${rows} for update`.execute(tx);
}

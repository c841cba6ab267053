/**
 * Counts the rows that depend on an app, a host, an account or a grant. It reads several tables, because a deletion
 * cascades through them.
 */
import { type DeletionEffect, type DeletionKind, deletionKinds } from '@footlight/protocol/rest';
import { nonterminalStates } from '@footlight/protocol/session-states';
import type { SelectQueryBuilder } from 'kysely';
import type { Executor, Schema } from '../platform/database/index.ts';

type Counts = Omit<DeletionEffect, 'kind'>;

const NOTHING: Counts = {
  ...{ sessions: 0, homes: 0, home_bytes: 0, entitlements: 0 },
  ...{ favourites: 0, tiles: 0, devices: 0, invites: 0, people: 0, running: 0 },
};

/** The kind of the object with this id; null: no such object exists. */
export async function kindOf(db: Executor, id: string): Promise<DeletionKind | null> {
  const rows = {
    app: db.selectFrom('apps').select('id').where('id', '=', id),
    host: db.selectFrom('hosts').select('id').where('id', '=', id),
    user: db.selectFrom('users').select('id').where('id', '=', id),
    entitlement: db.selectFrom('entitlements').select('id').where('id', '=', id),
  };
  for (const kind of deletionKinds) if ((await rows[kind].executeTakeFirst()) !== undefined) return kind;
  return null;
}

/**
 * Counts for each kind of object. The queries run one after another, so a concurrent launch may be included in only
 * some of the counts.
 */
export const countsOf: Readonly<Record<DeletionKind, (db: Executor, id: string) => Promise<Counts>>> = {
  async app(db, id) {
    // A subquery, because a launcher can have more tiles than a query can have parameters.
    const ids = db
      .selectFrom('apps')
      .select('id')
      .where((eb) => eb.or([eb('id', '=', id), eb('parent_app_id', '=', id)]));
    return {
      ...NOTHING,
      ...(await homesOf(db, 'app_id', id)),
      tiles: await count(db.selectFrom('apps').where('parent_app_id', '=', id)),
      sessions: await count(db.selectFrom('sessions').where('app_id', 'in', ids)),
      entitlements: await count(db.selectFrom('entitlements').where('app_id', 'in', ids)),
      favourites: await count(db.selectFrom('favourites').where('app_id', 'in', ids)),
    };
  },
  async host(db, id) {
    return {
      ...NOTHING,
      ...(await homesOf(db, 'host_id', id)),
      sessions: await count(db.selectFrom('sessions').where('host_id', '=', id)),
    };
  },
  async user(db, id) {
    return {
      ...NOTHING,
      ...(await homesOf(db, 'user_id', id)),
      sessions: await count(db.selectFrom('sessions').where('user_id', '=', id)),
      entitlements: await count(db.selectFrom('entitlements').where('subject_id', '=', id)),
      favourites: await count(db.selectFrom('favourites').where('user_id', '=', id)),
      devices: await count(db.selectFrom('devices').where('user_id', '=', id)),
      invites: await count(db.selectFrom('invites').where('created_by_user_id', '=', id)),
    };
  },
  async entitlement(db, id) {
    const grant = await db
      .selectFrom('entitlements')
      .select(['app_id', 'subject_id'])
      .where('id', '=', id)
      .executeTakeFirst();
    if (grant === undefined) return NOTHING;
    let losing = db
      .selectFrom('users')
      .select('users.id')
      // Exclude the internal account of certification, which has no library.
      .where('users.internal', '=', 0)
      // People with another grant of the app do not lose it: a grant for everybody, or their own grant.
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('entitlements')
              .select('entitlements.id')
              .where('entitlements.app_id', '=', grant.app_id)
              .where('entitlements.id', '<>', id)
              .where((row) =>
                row.or([row('subject_id', 'is', null), row('subject_id', '=', row.ref('users.id'))]),
              ),
          ),
        ),
      );
    if (grant.subject_id !== null) losing = losing.where('users.id', '=', grant.subject_id);
    return {
      ...NOTHING,
      people: await count(losing.clearSelect()),
      running: await count(
        db
          .selectFrom('sessions')
          .where('app_id', '=', grant.app_id)
          .where('state', 'in', nonterminalStates)
          .where('user_id', 'in', losing),
      ),
    };
  },
};

async function count<Table extends keyof Schema>(
  rows: SelectQueryBuilder<Schema, Table, object>,
): Promise<number> {
  const counted = await rows.select((eb) => eb.fn.countAll<number>().as('rows')).executeTakeFirstOrThrow();
  return counted.rows;
}

async function homesOf(
  db: Executor,
  column: 'app_id' | 'host_id' | 'user_id',
  id: string,
): Promise<Pick<DeletionEffect, 'homes' | 'home_bytes'>> {
  return db
    .selectFrom('storage_homes')
    .select((eb) => [
      eb.fn.countAll<number>().as('homes'),
      eb.fn.coalesce(eb.fn.sum<number>('bytes_used'), eb.lit(0)).as('home_bytes'),
    ])
    .where(column, '=', id)
    .where('gc_after', 'is', null)
    .executeTakeFirstOrThrow();
}

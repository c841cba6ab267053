import { createHash } from 'node:crypto';
import { DAY_MS, MINUTE_MS } from '@footlight/platform';
import { type Insertable, type InsertObject, sql } from 'kysely';
import { pageValue } from '../../accounts/tokens/tokens.ts';
import { type Database, flag, type Schema, type Tx } from '../../platform/database/index.ts';
import type { AppsTable, EntitlementsTable } from '../../platform/database/tables/catalog.ts';

/** Row counts of a large instance. */
export interface CatalogSize {
  users: number;
  apps: number;
  /** Number of entitlements of single users, without the entitlements for everybody. */
  entitlements: number;
  /** Number of users with a token. The first user is an administrator. */
  signedIn: number;
}

/** Row of an app in the large catalog. */
export type LargeApp = Insertable<AppsTable>;

export interface SignedInUser {
  id: string;
  email: string;
  token: string;
  /** Indexes into `apps` of the user's visible apps, newest first. */
  apps: number[];
  /** Indexes of the user's favourites. */
  favourites: number[];
}

export interface LargeCatalog {
  /** Newest first. */
  apps: LargeApp[];
  users: SignedInUser[];
}

const ROWS_AT_ONCE = 500;
/** Every fourth app is open to everybody; every fiftieth app is disabled. */
const EVERYBODYS = 4;
const SWITCHED_OFF = 50;

/**
 * Fills an empty database with a catalog. Equal sizes give equal catalogs.
 * @param passwordHash password hash of every user
 */
export async function fillLargeCatalog(
  database: Database,
  size: CatalogSize,
  passwordHash: string,
  nowMs: number,
): Promise<LargeCatalog> {
  const apps = Array.from({ length: size.apps }, (_, index) => appRow(index, nowMs));
  const perUser = Math.ceil(size.entitlements / size.users);
  const users: SignedInUser[] = [];
  const entitlements: Insertable<EntitlementsTable>[] = [];
  const grant = (userId: string | null, app: number) => {
    entitlements.push({
      id: uuidOf(`entitlement ${entitlements.length}`),
      subject_type: userId === null ? 'all' : 'user',
      subject_id: userId,
      app_id: apps[app]?.id ?? '',
      granted_by: 'admin',
      granted_by_user: null,
      source_ref: '',
      created_at: nowMs,
    });
  };
  for (let app = 0; app < size.apps; app += EVERYBODYS) grant(null, app);

  const userIds = Array.from({ length: size.users }, (_, index) => uuidOf(`user ${index}`));
  for (const [index, id] of userIds.entries()) {
    const own = new Set<number>();
    // The step and the number of apps have no common divisor, so the loop selects each app at most once.
    for (let step = 0; step < perUser; step++) own.add((index * 7 + step * 97) % size.apps);
    for (const app of own) grant(id, app);
    if (index >= size.signedIn) continue;
    const visible = apps.flatMap((app, position) =>
      app.enabled === 1 && (position % EVERYBODYS === 0 || own.has(position)) ? [position] : [],
    );
    const favourites = visible.filter((_, place) => place % 100 === index % 100);
    users.push({ id, email: emailOf(index), token: tokenOf(index), apps: visible, favourites });
  }

  await database.transaction(async (tx) => {
    await insert(tx, 'apps', apps);
    await insert(
      tx,
      'users',
      userIds.map((id, index) => ({
        id,
        email: emailOf(index),
        username: `user${index}`,
        password_hash: passwordHash,
        role: index === 0 ? ('admin' as const) : ('user' as const),
        max_concurrent_sessions: 3,
        internal: 0 as const,
        created_at: nowMs - index * MINUTE_MS,
        updated_at: nowMs,
      })),
    );
    await insert(tx, 'entitlements', entitlements);
    await insert(
      tx,
      'auth_tokens',
      users.map(({ id, token }) => ({
        id: uuidOf(`token of ${id}`),
        user_id: id,
        token_hash: sha256(token).toString('hex'),
        page_hash: sha256(pageValue(token)).toString('hex'),
        expires_at: nowMs + 365 * DAY_MS,
        created_at: nowMs,
      })),
    );
    await insert(
      tx,
      'favourites',
      users.flatMap(({ id, favourites }) =>
        favourites.map((app) => ({ user_id: id, app_id: apps[app]?.id ?? '', created_at: nowMs })),
      ),
    );
  });
  // Update the statistics now. Postgres' autovacuum would do it only within a minute; SQLite never does it.
  if (database.dialect === 'postgres') await sql`analyze`.execute(database.db);
  return { apps, users };
}

function appRow(index: number, nowMs: number): LargeApp {
  const tall = index % 3 === 0;
  return {
    id: uuidOf(`app ${index}`),
    name: `App ${index}`,
    description: `What app ${index} is about, in as many words as a shop page gives to it.`.repeat(2),
    cover_url: `/v1/apps/${uuidOf(`app ${index}`)}/artwork/cover?v=${index}`,
    hero_url: tall ? `/v1/apps/${uuidOf(`app ${index}`)}/artwork/hero?v=${index}` : null,
    kind: 'game',
    enabled: flag(index % SWITCHED_OFF !== 7),
    parent_app_id: null,
    external_source: '',
    external_id: '',
    default_width: 1920,
    default_height: 1080,
    default_fps: tall ? 30 : 60,
    default_bitrate_kbps: 15_000,
    default_vram_mb: 1024,
    default_encode_slots: 1,
    runtime_spec: '{"args":["/opt/game/bin/start","--fullscreen"],"env":{"LANG":"C.UTF-8"}}',
    runtime_preset_id: null,
    managed_home: 0,
    home_container_path: '/home/service',
    home_base: null,
    default_profile_id: null,
    profile_policy: 'inherit',
    origin: 'manual',
    library_provider: '',
    library_discovery_suspended: 0,
    entitle_first_admin: 0,
    created_at: nowMs - index * MINUTE_MS,
    updated_at: nowMs,
  };
}

async function insert<Table extends keyof Schema>(
  tx: Tx,
  table: Table,
  rows: readonly InsertObject<Schema, Table>[],
): Promise<void> {
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    await tx
      .insertInto(table)
      .values(rows.slice(from, from + ROWS_AT_ONCE))
      .execute();
  }
}

const emailOf = (index: number): string => `user${index}@example.test`;
const tokenOf = (index: number): string => sha256(`bearer ${index}`).toString('base64url');
const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Version 4 UUID derived from a text, as evenly distributed as a random UUID. */
function uuidOf(text: string): string {
  const hex = sha256(text).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

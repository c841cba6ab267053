/**
 * Reconciles the report of a home with 2,000 titles, for the bench of the library. For each line of standard input it
 * prints {"ms"}: `reconcile` processes the report of a new home, and `plain` inserts the same rows in one transaction.
 * Both start without titles in the database. The first line must be `reconcile`, because it determines the rows for
 * `plain`.
 */
import { createInterface } from 'node:readline';
import { FULLY_INSTALLED } from '@footlight/protocol/agent';
import type { InsertObject } from 'kysely';
import { buildControlPlane } from '../../app.ts';
import { loadConfig } from '../../platform/config/config.ts';
import type { Schema } from '../../platform/database/index.ts';
import { fillLargeCatalog } from './large-catalog.ts';

const TITLES = 2_000;
const ROWS_AT_ONCE = 500;

const plane = await buildControlPlane(loadConfig(process.env));
const { clock, database, random } = plane.platform;
const { db } = database;
const size = { users: 1, apps: 1, entitlements: 0, signedIn: 1 };
const { apps, users } = await fillLargeCatalog(database, size, 'none', clock.nowMs());
const home = { user_id: users[0]?.id ?? '', app_id: apps[0]?.id ?? '', host_id: random.uuid() };
await db
  .updateTable('apps')
  .set({ kind: 'launcher', library_provider: 'steam', managed_home: 1 })
  .where('id', '=', home.app_id)
  .execute();
await db
  .insertInto('hosts')
  .values({
    ...{ id: home.host_id, node_name: 'bench-host', status: 'offline', secret_hash: 'none' },
    ...{ capacity_detection: 'unavailable', drain_intent: 0, features: '[]' },
    ...{ settings_overrides: '{}', pending_restart: 0, created_at: clock.nowMs() },
  })
  .execute();
const entries = Array.from({ length: TITLES }, (_, n) => ({
  ...{ external_id: String(1_000 + n), name: `Title ${n}`, install_dir: `Title ${n}` },
  ...{ size_on_disk: 26_843_545_600, state_flags: FULLY_INSTALLED },
}));

interface Rows {
  apps: InsertObject<Schema, 'apps'>[];
  entitlements: InsertObject<Schema, 'entitlements'>[];
  observations: InsertObject<Schema, 'library_observations'>[];
}
let rows: Rows | null = null;

async function readRows(): Promise<Rows> {
  const tiles = await db.selectFrom('apps').selectAll().where('origin', '=', 'discovered').execute();
  return {
    apps: tiles,
    entitlements: await db
      .selectFrom('entitlements')
      .selectAll()
      .where('granted_by', '=', 'provider')
      .execute(),
    observations: await db.selectFrom('library_observations').selectAll().execute(),
  };
}

async function clear(): Promise<void> {
  await db.deleteFrom('library_observations').execute();
  await db.deleteFrom('library_scans').execute();
  await db.deleteFrom('entitlements').where('granted_by', '=', 'provider').execute();
  await db.deleteFrom('apps').where('origin', '=', 'discovered').execute();
}

async function reconcile(): Promise<void> {
  const id = random.uuid();
  const nowMs = clock.nowMs();
  await db
    .insertInto('library_scans')
    .values({
      ...{ ...home, id, state: 'claimed', claimed_at: nowMs, claimed_boot: null, reported_at: null },
      ...{ complete: null, error: '', observed: 0, suppressed: 0, created: 0, disabled: 0 },
      ...{ granted: 0, revoked: 0, rejected: 0, backfilled: 0, created_at: nowMs },
    })
    .execute();
  const node = { hostId: home.host_id, nodeName: 'bench-host', bootId: null };
  await plane.discovery.report(node, { scan_id: id, ok: true, entries });
}

const plain = ({ apps, entitlements, observations }: Rows): Promise<void> =>
  database.transaction(async (tx) => {
    for (let at = 0; at < TITLES; at += ROWS_AT_ONCE) {
      const batch = <Row>(all: readonly Row[]) => all.slice(at, at + ROWS_AT_ONCE);
      await tx.insertInto('apps').values(batch(apps)).execute();
      await tx.insertInto('entitlements').values(batch(entitlements)).execute();
      await tx.insertInto('library_observations').values(batch(observations)).execute();
    }
  });

process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  await clear();
  const startedMs = clock.monotonicMs();
  if (line === 'plain' && rows !== null) await plain(rows);
  else await reconcile();
  const ms = clock.monotonicMs() - startedMs;
  rows ??= await readRows();
  if (rows.apps.length !== TITLES || rows.entitlements.length !== TITLES)
    throw new Error(`${rows.apps.length} tiles and ${rows.entitlements.length} entitlements were made`);
  process.stdout.write(`${JSON.stringify({ ms })}\n`);
}
await plane.close();

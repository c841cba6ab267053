/** Provider apps: library discovery creates them, and its switch enables and disables them. */
import { DEFAULT_HOME_PATH } from '@footlight/protocol/app-defaults';
import type { RuntimeSpec } from '@footlight/protocol/rest';
import type { Database, Executor, Tx } from '../../platform/database/index.ts';
import { recordCatalogChange } from '../changes.ts';
import { type AppRow, toColumns } from '../record.ts';
import { NEW_APP } from '../rules/app-rules.ts';
import { insertApp, isDiscoveryEnabled } from '../store.ts';
import { insertProviderGrants } from './store.ts';

export type LibraryProvider = Exclude<AppRow['library_provider'], ''>;

/** Whether any app, even a disabled one, is marked as a library provider. */
export async function hasProviderApp(db: Executor): Promise<boolean> {
  const row = await db
    .selectFrom('apps')
    .select('id')
    .where('library_provider', '<>', '')
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Applies the switch of library discovery to the provider apps. Switching it off disables the enabled apps and marks
 * them; switching it on enables the marked apps. Apps that an administrator disabled have no mark and stay disabled.
 * @returns changed apps (count)
 */
export async function settleProviderApps(tx: Tx, nowMs: number): Promise<number> {
  const query = tx
    .selectFrom('apps')
    .select(['id', 'enabled', 'library_discovery_suspended'])
    .where('library_provider', '<>', '')
    .orderBy('id');
  const apps = await query.forNoKeyUpdate().execute();
  const isOn = await isDiscoveryEnabled(tx);
  const changed = apps
    .filter(({ enabled, library_discovery_suspended }) =>
      isOn ? library_discovery_suspended === 1 : enabled === 1,
    )
    .map(({ id }) => id);
  if (changed.length === 0) return 0;
  await tx
    .updateTable('apps')
    .set({ enabled: isOn ? 1 : 0, library_discovery_suspended: isOn ? 0 : 1, updated_at: nowMs })
    .where('id', 'in', changed)
    .execute();
  await recordCatalogChange(tx, 'everything');
  return changed.length;
}

/** A provider app that an image of the catalog declares. */
export interface NewProviderApp {
  provider: LibraryProvider;
  name: string;
  description: string;
  coverUrl: string | null;
  runtimeSpec: RuntimeSpec;
  runtimePresetId: string | null;
  managedHome: boolean;
  /** null: DEFAULT_HOME_PATH is used. */
  homeContainerPath: string | null;
}

/**
 * Creates the provider's app with an entitlement for everybody, unless an app of this provider exists or discovery is
 * off.
 * @param ids ids for the new app and its entitlement
 * @returns whether the app was created
 */
export async function ensureProviderApp(
  database: Database,
  tx: Tx,
  app: NewProviderApp,
  ids: { app: string; entitlement: string },
  nowMs: number,
): Promise<boolean> {
  await database.advisoryLock(tx, 'library');
  const existing = await tx
    .selectFrom('apps')
    .select('id')
    .where('library_provider', '=', app.provider)
    .limit(1)
    .executeTakeFirst();
  if (existing !== undefined || !(await isDiscoveryEnabled(tx))) return false;
  await insertApp(tx, {
    ...toColumns({
      ...NEW_APP,
      name: app.name,
      description: app.description,
      cover_url: app.coverUrl,
      kind: 'launcher',
      library_provider: app.provider,
      runtime_spec: app.runtimeSpec,
      runtime_preset_id: app.runtimePresetId,
      managed_home: app.managedHome,
      home_container_path: app.homeContainerPath ?? DEFAULT_HOME_PATH,
    }),
    id: ids.app,
    hero_url: null,
    origin: 'manual',
    library_discovery_suspended: 0,
    entitle_first_admin: 0,
    created_at: nowMs,
    updated_at: nowMs,
  });
  const sourceRef = `provider-app-ensure:${app.provider}`;
  await insertProviderGrants(tx, [{ id: ids.entitlement, userId: null, appId: ids.app, sourceRef }], nowMs);
  await recordCatalogChange(tx, { appId: ids.app });
  return true;
}

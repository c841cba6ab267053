import { DAY_MS } from '@footlight/platform';
import type { AdminApp, AppListItem, Body } from '@footlight/protocol/rest';
import { flag, lockForRemoval, onUniqueViolation, type Tx } from '../platform/database/index.ts';
import { ApiError, invalid, noSuch } from '../platform/errors.ts';
import type { Caller } from '../platform/http/message/contract.ts';
import { nextOffset, readOffset } from '../platform/offset-cursor.ts';
import type { Platform } from '../platform/platform.ts';
import { releaseHomesOfApp } from '../storage/index.ts';
import { type AppList, createAppList } from './app-list.ts';
import { recordCatalogChange } from './changes.ts';
import type { CatalogDeps } from './deps.ts';
import { createEntitlements, type Entitlements } from './entitlements/service.ts';
import { entitlementExists, insertAdminEntitlement } from './entitlements/store.ts';
import { createFavourites, type Favourites } from './favourites/service.ts';
import { loadFavourites } from './favourites/store.ts';
import { createHighlights, type Highlights } from './highlights/service.ts';
import { createPresets, type Presets } from './presets/service.ts';
import { lockPresetShared } from './presets/store.ts';
import { type AppRow, toAdminApp, toColumns, toFields, toListItem } from './record.ts';
import {
  type AppFields,
  type AppPatch,
  applyPatch,
  decideAllowList,
  inheritFromParent,
  NEW_APP,
  type NewAppAudience,
  refuseFields,
  refuseProfiles,
  refuseWrite,
} from './rules/app-rules.ts';
import { refuseMounts } from './rules/mount-policy.ts';
import { refuseParent, refuseRemoval } from './rules/tile-rules.ts';
import { applySeedFile } from './seed.ts';
import * as store from './store.ts';

const SESSIONS_WINDOW_MS = 30 * DAY_MS;
/** Maximum tiles that a refused delete lists. */
const MAX_LISTED_TILES = 200;

type CreateBody = Body<'apps.create'>;

export interface Catalog {
  entitlements: Entitlements;
  presets: Presets;
  favourites: Favourites;
  highlights: Highlights;
  /** Starts the read that listBody needs. */
  beginList: AppList['current'];
  /** JSON of one page of the caller's apps, cached per user. @throws 400 for an invalid cursor */
  listBody: AppList['body'];
  /** @throws 404 for a person: the app is unknown, disabled or not entitled; for an administrator: it is unknown */
  read(caller: Caller, appId: string): Promise<AdminApp | AppListItem>;
  listAll(
    adminId: string,
    query: { limit: number; cursor?: string | undefined; q?: string | undefined },
  ): Promise<{ items: AdminApp[]; next_cursor: string | null }>;
  create(actor: Caller, body: CreateBody): Promise<AdminApp>;
  update(actor: Caller, appId: string, patch: AppPatch): Promise<AdminApp>;
  remove(actor: Caller, appId: string, deleteDerived: boolean): Promise<void>;
  /** Adds the first administrator's entitlements from the seed file, in the transaction that creates the account. */
  grantFirstAdminApps(tx: Tx, userId: string): Promise<void>;
  /**
   * Fills an empty catalog of an unclaimed instance from the seed file.
   * @throws SeedRefused when the file is needed but unusable; nothing was written
   */
  plantSeed(): Promise<void>;
}

export function createCatalog(platform: Platform, deps: CatalogDeps): Catalog {
  const { database, clock, random, activity, config } = platform;
  const appList = createAppList(database, deps);
  const entitlements = createEntitlements(platform);
  const presets = createPresets(platform);

  async function adminApp(row: AppRow, adminId: string): Promise<AdminApp> {
    return (await adminApps([row], adminId))[0] as AdminApp;
  }

  async function adminApps(rows: readonly AppRow[], adminId: string): Promise<AdminApp[]> {
    const ids = rows.map((row) => row.id);
    const favourites = await loadFavourites(database.db, adminId);
    const allowLists = await store.loadAllowLists(database.db, ids);
    const counts = await store.countSessionsSince(database.db, ids, clock.nowMs() - SESSIONS_WINDOW_MS);
    const displayStreams = await deps.loadDisplayStreams(database.db);
    return rows.map((row) =>
      toAdminApp(row, {
        favourite: favourites.has(row.id),
        displayStream: displayStreams(row),
        launchableProfileIds: allowLists.get(row.id) ?? [],
        sessions30d: counts.get(row.id) ?? 0,
      }),
    );
  }

  /**
   * Checks the parent app and the preset of the request against the database.
   * @param base the stored app; null for a new one
   * @returns the new parent, if the request sets one
   */
  async function checkReferences(
    tx: Tx,
    appId: string | null,
    fields: AppFields,
    base: AppFields | null,
  ): Promise<AppRow | null> {
    const parentId = fields.parent_app_id === base?.parent_app_id ? null : fields.parent_app_id;
    let parent: AppRow | null = null;
    if (parentId !== null) {
      parent = await store.lockApp(tx, parentId);
      const hasTiles = appId !== null && (await store.listTiles(tx, appId, 1)).length > 0;
      const refused = refuseParent({ appId, parentId, parent, hasTiles });
      if (refused !== null) throw invalid(refused);
    }
    if (fields.runtime_preset_id !== null && fields.runtime_preset_id !== base?.runtime_preset_id) {
      if (!(await lockPresetShared(tx, fields.runtime_preset_id))) {
        throw invalid('runtime_preset_id: there is no such preset');
      }
    }
    return parent;
  }

  /** Checks that people may choose the launch profiles in the request. */
  async function checkProfiles(
    tx: Tx,
    sentDefault: string | null | undefined,
    listIds: readonly string[],
  ): Promise<void> {
    const ids = sentDefault == null ? listIds : [sentDefault, ...listIds];
    const refused = refuseProfiles(sentDefault ?? null, listIds, await deps.lockUserProfiles(tx, ids));
    if (refused !== null) throw invalid(refused);
  }

  async function insert(tx: Tx, body: CreateBody, audience: NewAppAudience): Promise<string> {
    const id = random.uuid();
    const now = clock.nowMs();
    const draft = applyPatch({ ...NEW_APP, name: body.name }, body);
    const refused = refuseFields(draft);
    if (refused !== null) throw invalid(refused);
    const parent = await checkReferences(tx, null, draft, null);
    const fields = inheritFromParent(draft, body, parent && toFields(parent));
    const list = decideAllowList(fields.profile_policy, body.launchable_profile_ids);
    if (typeof list === 'object' && 'refused' in list) throw invalid(list.refused);
    const listIds = list === 'keep' ? [] : list.ids;
    await checkProfiles(tx, body.default_profile_id, listIds);
    const discoveryEnabled = await store.isDiscoveryEnabled(tx);
    const refusal = refuseWrite({ result: fields, patch: null, hasArtwork: false, discoveryEnabled });
    if (refusal !== null) throw new ApiError(refusal.code, refusal);
    await store.insertApp(tx, {
      ...toColumns(fields),
      id,
      hero_url: null,
      origin: 'manual',
      library_discovery_suspended: 0,
      entitle_first_admin: flag(audience.entitle === 'first_admin'),
      created_at: now,
      updated_at: now,
    });
    await store.replaceAllowList(tx, id, listIds);
    if (audience.entitle === 'all') {
      await insertAdminEntitlement(tx, {
        id: random.uuid(),
        appId: id,
        subjectId: null,
        grantedBy: audience.grantedBy,
        nowMs: now,
      });
    }
    await recordCatalogChange(tx, { appId: id });
    return id;
  }

  async function loadAdminApp(appId: string, adminId: string): Promise<AdminApp> {
    const row = await store.findApp(database.db, appId);
    if (!row) throw noSuch('app', appId);
    return adminApp(row, adminId);
  }

  return {
    entitlements,
    presets,
    favourites: createFavourites(platform),
    highlights: createHighlights(platform),

    beginList: appList.current,
    listBody: appList.body,

    async read(caller, appId) {
      if (caller.role === 'admin') return loadAdminApp(appId, caller.userId);
      const row = await store.findEntitledApp(database.db, caller.userId, appId);
      if (!row) throw noSuch('app', appId);
      const favourites = await loadFavourites(database.db, caller.userId);
      const displayStreams = await deps.loadDisplayStreams(database.db);
      return toListItem(row, { favourite: favourites.has(row.id), displayStream: displayStreams(row) });
    },

    async listAll(adminId, query) {
      const page = { offset: readOffset(query.cursor), limit: query.limit };
      const rows = await store.listAllApps(database.db, query.q ?? null, page);
      return {
        items: await adminApps(rows.slice(0, page.limit), adminId),
        next_cursor: nextOffset(page, rows.length),
      };
    },

    async create(actor, body) {
      const id = await onUniqueViolation(
        titleTaken,
        database.transaction((tx) =>
          insert(tx, body, { entitle: body.entitle ?? 'all', grantedBy: actor.userId }),
        ),
      );
      await activity.record(actor.userId, 'app.create', id, { name: body.name });
      return loadAdminApp(id, actor.userId);
    },

    async update(actor, appId, patch) {
      const refusedMount = refuseMounts('runtime_spec.mounts', patch.runtime_spec?.mounts);
      if (refusedMount !== null) throw invalid(refusedMount);
      const keys = Object.keys(patch).sort();
      await onUniqueViolation(
        titleTaken,
        database.transaction(async (tx) => {
          const row = await store.lockApp(tx, appId);
          if (!row) throw noSuch('app', appId);
          const base = toFields(row);
          const fields = applyPatch(base, patch);
          const refused = refuseFields(fields);
          if (refused !== null) throw invalid(refused);
          const list = decideAllowList(fields.profile_policy, patch.launchable_profile_ids);
          if (typeof list === 'object' && 'refused' in list) throw invalid(list.refused);
          await checkReferences(tx, appId, fields, base);
          await checkProfiles(tx, patch.default_profile_id, list === 'keep' ? [] : list.ids);
          const refusal = refuseWrite({
            result: fields,
            patch,
            hasArtwork: patch.cover_url !== undefined && (await store.hasArtwork(tx, appId)),
            discoveryEnabled: await store.isDiscoveryEnabled(tx),
          });
          if (refusal !== null) throw new ApiError(refusal.code, refusal);
          if (keys.length === 0) return;
          await store.updateApp(tx, appId, {
            ...toColumns(fields),
            // An administrator who sets `enabled` overrides an earlier decision of discovery.
            ...(patch.enabled !== undefined && { library_discovery_suspended: 0 as const }),
            updated_at: clock.nowMs(),
          });
          if (list !== 'keep') await store.replaceAllowList(tx, appId, list.ids);
          await recordCatalogChange(tx, { appId });
        }),
      );
      if (keys.length > 0) {
        await activity.record(actor.userId, 'app.update', appId, { keys });
      }
      return loadAdminApp(appId, actor.userId);
    },

    async remove(actor, appId, deleteDerived) {
      const name = await database.transaction(async (tx) => {
        const row = await store.lockApp(tx, appId);
        if (!row) throw noSuch('app', appId);
        // The lock waits until a concurrent launch of the app or a tile is committed, so the check below sees its
        // session.
        await lockForRemoval(tx, 'apps', [appId, ...(await store.lockTiles(tx, appId))]);
        const refusal = refuseRemoval({
          deleteDerived,
          tiles: deleteDerived ? [] : await store.listTiles(tx, appId, MAX_LISTED_TILES),
          hasLiveSession: await store.hasLiveSession(tx, appId),
        });
        if (refusal !== null) throw new ApiError(refusal.code, refusal);
        await releaseHomesOfApp(tx, appId, clock.nowMs());
        await store.deleteApp(tx, appId);
        await recordCatalogChange(tx, 'everything');
        return row.name;
      });
      await activity.record(actor.userId, 'app.delete', appId, { name, delete_derived: deleteDerived });
    },

    async grantFirstAdminApps(tx, userId) {
      const appIds = await store.lockFirstAdminApps(tx);
      if (appIds.length === 0) return;
      for (const appId of appIds) {
        if (await entitlementExists(tx, appId, userId)) continue;
        await insertAdminEntitlement(tx, {
          id: random.uuid(),
          appId,
          subjectId: userId,
          grantedBy: null,
          nowMs: clock.nowMs(),
        });
      }
      await store.clearFirstAdminApps(tx);
      await recordCatalogChange(tx, { userId });
    },

    plantSeed: () => applySeedFile(platform, config.catalog.seedFile, insert),
  };
}

const titleTaken = () =>
  new ApiError('conflict', { message: 'The parent already has a tile for this title.' });

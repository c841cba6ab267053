import type { CatalogImage, ImageCatalog } from '@footlight/protocol/rest';
import type { Presets } from '../catalog/index.ts';
import type { Agents, Links } from '../fleet/index.ts';
import { readAfterGaps } from '../platform/bus/after-gaps.ts';
import {
  bool,
  type Executor,
  flag,
  isUniqueViolation,
  lockRows,
  type Tx,
} from '../platform/database/index.ts';
import { ApiError } from '../platform/errors.ts';
import type { Caller } from '../platform/http/message/contract.ts';
import { createFetcher, FetchRefused, PUBLIC_INTERNET } from '../platform/outgoing/guarded-fetch.ts';
import type { Platform } from '../platform/platform.ts';
import type { Settings } from '../settings/index.ts';
import { isNewer } from './manifest/version-order.ts';
import { Ensurer } from './presence/ensurer.ts';
import { ABSENT, needsEnsure } from './presence/presence-rules.ts';
import { createImageHandlers } from './presence/reports.ts';
import { type ProviderImage, toProvider } from './providers.ts';
import { type CatalogImageRow, type HostImageRow, type InstalledRow, toCatalog, toImage } from './record.ts';
import { fetchManifest } from './registry/catalog-source.ts';
import { createDigestResolver } from './registry/digest-resolver.ts';
import * as store from './store.ts';
import { runtimeOf, syncCatalog } from './sync.ts';

export interface ImagesDeps {
  fleet: { agents: Agents; links: Links };
  presets: Presets;
  settings: Settings;
}

/** The image catalog, installed images, and their state on hosts. */
export interface Images {
  read(): Promise<ImageCatalog>;
  /**
   * Concurrent calls share the next synchronisation. An unreachable catalog or registry is no failure; `sync_error`
   * reports it.
   */
  sync(actor: Caller): Promise<ImageCatalog>;
  /** @throws ApiError not_found, already_installed, digest_unresolved, context_unresolved */
  install(actor: Caller, imageId: string, lazy: boolean): Promise<CatalogImage>;
  /** @throws ApiError not_found, not_installed, provider_enabled */
  uninstall(actor: Caller, imageId: string): Promise<void>;
  /** Idempotent. @throws ApiError not_installed */
  pin(actor: Caller, imageId: string, pinned: boolean): Promise<void>;
  /** @throws ApiError not_found, not_installed, conflict, digest_unresolved, context_unresolved */
  update(actor: Caller, imageId: string): Promise<{ applied: boolean; image: CatalogImage }>;
  /**
   * Called before a session runs this image on a host. A lazily installed image is then fetched there. Never rejects.
   * @param image image name from the launch; "" means no image
   */
  used(hostId: string, image: string): Promise<void>;
  /** Used by library discovery to install images and create the apps of libraries. */
  readonly providers: {
    /** Images of the catalog that contain the launcher of a supported library, sorted by id. */
    declared(): Promise<ProviderImage[]>;
    /**
     * Installs an image on all hosts, unless it is already installed.
     * @returns the id of its preset (null: it has none), and the name under which hosts run the image
     * @throws ApiError as `install` does
     */
    ensureInstalled(imageId: string): Promise<{ runtimePresetId: string | null; image: string }>;
    /** Runs after each synchronisation that accepted a manifest; its rejection is logged. */
    onSynced(listener: () => Promise<void>): void;
  };
  /** Stops commands to hosts and requests to registries. */
  close(): void;
}

/**
 * Two concurrent installations may choose the same name for their presets; the second attempt sees the first preset.
 */
const NAME_TRIES = 2;

export function createImages(platform: Platform, deps: ImagesDeps): Images {
  const { activity, clock, config, database, logger } = platform;
  const { fleet, presets, settings } = deps;
  const stopping = new AbortController();
  const fetcher = createFetcher({ clock, policy: PUBLIC_INTERNET, stopping: stopping.signal });
  const resolver = createDigestResolver({ clock, fetcher, hosts: config.images.registryHosts });
  const ensurer = new Ensurer(platform, fleet.agents, fleet.links);
  fleet.links.setImageHandlers(createImageHandlers(platform, ensurer));
  const syncedListeners: (() => Promise<void>)[] = [];
  let running: Promise<unknown> = Promise.resolve();
  let waiting: Promise<ImageCatalog> | null = null;

  async function loadImages(db: Executor): Promise<CatalogImage[]> {
    const [rows, installed, hosts, held] = await Promise.all([
      store.listCatalogImages(db),
      store.listInstalled(db),
      store.listHosts(db),
      store.listHostImages(db, null),
    ]);
    const installedById = new Map(installed.map((row) => [row.image_id, row]));
    const heldById = new Map<string, Map<string, HostImageRow>>();
    for (const row of held) {
      const ofImage = heldById.get(row.image_id) ?? new Map<string, HostImageRow>();
      heldById.set(row.image_id, ofImage.set(row.host_id, row));
    }
    return rows.map((row) =>
      toImage(row, installedById.get(row.id) ?? null, heldById.get(row.id) ?? new Map(), hosts),
    );
  }

  async function loadImage(imageId: string): Promise<CatalogImage> {
    const { db } = database;
    const [row, installed, hosts, held] = await Promise.all([
      store.findCatalogImage(db, imageId),
      store.findInstalled(db, imageId),
      store.listHosts(db),
      store.listHostImages(db, imageId),
    ]);
    if (row === null) throw unknownImage();
    return toImage(row, installed, new Map(held.map((one) => [one.host_id, one])), hosts);
  }

  const read = async (): Promise<ImageCatalog> =>
    toCatalog(await store.loadCatalog(database.db), await loadImages(database.db));

  /**
   * Creates or updates the preset of an image. @returns the preset's id; null: the manifest has no run settings for the
   * image
   */
  async function keepPreset(tx: Tx, row: CatalogImageRow, image: string): Promise<string | null> {
    const runtime = runtimeOf(row);
    if (runtime === null) return null;
    const { args, env, mounts, managed_home, home_container_path, network } = runtime;
    return presets.keepManaged(tx, {
      imageId: row.id,
      image,
      name: runtime.preset_name ?? row.display_name,
      fields: {
        ...(args !== null && { args: [...args] }),
        ...(env !== null && { env }),
        ...(mounts !== null && { mounts: [...mounts] }),
        ...(managed_home !== null && { managed_home }),
        ...(home_container_path !== null && { home_container_path }),
        ...(network !== null && { network }),
      },
    });
  }

  /**
   * The columns of an installed image at the catalog's version. @throws ApiError digest_unresolved, context_unresolved
   */
  function versionOf(
    row: CatalogImageRow,
  ): Pick<InstalledRow, 'version' | 'registry_ref' | 'local_tag' | 'build'> {
    const { version } = row;
    if (row.kind === 'prebuilt') {
      if (row.registry_digest === null) throw new ApiError('digest_unresolved');
      return { version, registry_ref: row.registry_digest, local_tag: null, build: null };
    }
    if (row.build === null) throw new ApiError('context_unresolved', { message: NO_CONTEXT });
    return { version, registry_ref: null, local_tag: `service-local/${row.id}:${version}`, build: row.build };
  }

  async function insert(imageId: string, lazy: boolean): Promise<InstalledRow> {
    return retryTakenName(() =>
      database.transaction(async (tx) => {
        await store.lockCatalog(tx);
        const row = await store.findCatalogImage(tx, imageId);
        if (row === null) throw unknownImage();
        if ((await store.findInstalled(tx, imageId)) !== null) throw new ApiError('already_installed');
        const columns = versionOf(row);
        // Lock the preset first: the deletion of a preset also locks the preset before the installed image.
        const presetId = await keepPreset(tx, row, nameOfVersion(columns));
        const installed: InstalledRow = {
          image_id: imageId,
          ...columns,
          lazy: flag(lazy),
          pinned: 0,
          runtime_preset_id: presetId,
          installed_at: clock.nowMs(),
        };
        await store.insertInstalled(tx, installed);
        return installed;
      }),
    );
  }

  /** @returns null: this version is already installed @throws ApiError as `Images.update` does */
  async function applyUpdate(imageId: string): Promise<InstalledRow | null> {
    return retryTakenName(() =>
      database.transaction(async (tx) => {
        await store.lockCatalog(tx);
        const row = await store.findCatalogImage(tx, imageId);
        if (row === null) throw unknownImage();
        const installed = await store.findInstalled(tx, imageId);
        if (installed === null) throw new ApiError('not_installed');
        if (bool(installed.pinned)) throw new ApiError('conflict', { message: PINNED });
        if (installed.version === row.version) return null;
        const columns = versionOf(row);
        const presetId = await keepPreset(tx, row, nameOfVersion(columns));
        const change = { ...columns, ...(presetId !== null && { runtime_preset_id: presetId }) };
        await store.updateInstalled(tx, imageId, change);
        return { ...installed, ...change };
      }),
    );
  }

  /** Rewrites the preset of an installed image with the run settings of the catalog. */
  async function rewritePreset(tx: Tx, imageId: string): Promise<void> {
    const [row, installed] = [
      await store.findCatalogImage(tx, imageId),
      await store.findInstalled(tx, imageId),
    ];
    if (row === null || installed === null) return;
    const presetId = await keepPreset(tx, row, store.nameOf(installed));
    if (presetId !== installed.runtime_preset_id)
      await store.updateInstalled(tx, imageId, { runtime_preset_id: presetId });
  }

  /** Makes hosts that lack the version fetch it. @param isEverywhere false: only hosts that have or fetch the image */
  async function ensureOnHosts(installed: InstalledRow, isEverywhere: boolean): Promise<void> {
    const held = new Map(
      (await store.listHostImages(database.db, installed.image_id)).map((row) => [row.host_id, row]),
    );
    for (const hostId of await store.listReachableHosts(database.db)) {
      const row = held.get(hostId);
      if (!isEverywhere && (row ?? ABSENT).state === 'absent') continue;
      if (needsEnsure(row, installed.version)) ensurer.ensure(hostId, installed);
    }
  }

  /** Requests of other replicas may have been lost. Each replica makes its own hosts fetch what they lack. */
  async function ensureAfterGap(): Promise<void> {
    const installed = (await store.listInstalled(database.db)).filter(({ lazy }) => !bool(lazy));
    if (installed.length === 0) return;
    for (const hostId of await store.listReachableHosts(database.db)) {
      if (!fleet.links.holds(hostId)) continue;
      const held = await store.loadImagesOfHost(database.db, hostId);
      for (const image of installed)
        if (needsEnsure(held.get(image.image_id), image.version)) ensurer.ensureHere(hostId, image);
    }
  }
  const gaps = readAfterGaps(platform, ensureAfterGap, (error) =>
    logger.error({ err: error }, 'images.ensure_failed'),
  );

  /** With the update policy `auto`, updates each unpinned image to the catalog's version. */
  async function followCatalog(actor: Caller): Promise<void> {
    if ((await settings.current()).imageUpdatePolicy !== 'auto') return;
    const versions = new Map(
      (await store.listCatalogImages(database.db)).map((row) => [row.id, row.version]),
    );
    for (const { image_id, version, pinned } of await store.listInstalled(database.db)) {
      const offered = versions.get(image_id);
      if (bool(pinned) || offered === undefined || !isNewer(offered, version)) continue;
      try {
        const updated = await applyUpdate(image_id);
        if (updated === null) continue;
        await ensureOnHosts(updated, !bool(updated.lazy));
        await activity.record(actor.userId, 'image.updated', image_id, {
          applied: true,
          version: updated.version,
        });
      } catch (error) {
        // An image without a digest is not updated; sync_error names the image.
        if (!(error instanceof ApiError)) throw error;
        logger.info({ image_id, code: error.code }, 'images.not_updated');
      }
    }
  }

  async function syncNow(actor: Caller): Promise<ImageCatalog> {
    const { taken, sync_error } = await syncCatalog(platform, {
      fetchManifest: (ref) => fetchManifest(config.images, fetcher, ref),
      resolver,
      rewritePreset,
    });
    if (taken) await followCatalog(actor);
    for (const installed of await store.listInstalled(database.db))
      if (!bool(installed.lazy)) await ensureOnHosts(installed, true);
    if (taken)
      for (const listener of syncedListeners)
        await listener().catch((error: unknown) => logger.error({ err: error }, 'images.provider_failed'));
    const catalog = await read();
    await activity.record(actor.userId, 'image.synced', null, {
      images: catalog.images.length,
      sync_error: sync_error !== null,
    });
    return catalog;
  }

  return {
    read,

    sync(actor) {
      if (waiting !== null) return waiting;
      const next = running.then(() => {
        waiting = null;
        return syncNow(actor);
      });
      waiting = next;
      running = next.catch(() => undefined);
      return next;
    },

    async install(actor, imageId, lazy) {
      const installed = await insert(imageId, lazy);
      if (!lazy) await ensureOnHosts(installed, true);
      await activity.record(actor.userId, 'image.installed', imageId, { version: installed.version, lazy });
      return loadImage(imageId);
    },

    async uninstall(actor, imageId) {
      const discovers = (await settings.current()).libraryDiscoveryEnabled;
      await database.transaction(async (tx) => {
        await store.lockCatalog(tx);
        const [row, installed] = [
          await store.findCatalogImage(tx, imageId),
          await store.findInstalled(tx, imageId),
        ];
        if (installed === null) throw row === null ? unknownImage() : new ApiError('not_installed');
        if (discovers && (row?.library_provider ?? null) !== null) throw new ApiError('provider_enabled');
        // Lock the hosts first: a report also locks its host before it changes these rows.
        const held = await store.listHostImages(tx, imageId);
        await lockRows(tx, { hosts: held.map((one) => one.host_id) });
        await store.deleteInstalled(tx, imageId);
      });
      const hosts = await store.listReachableHosts(database.db);
      ensurer
        .remove(hosts, imageId)
        .catch((error: unknown) => logger.warn({ err: error, image_id: imageId }, 'images.remove_failed'));
      await activity.record(actor.userId, 'image.uninstalled', imageId);
    },

    async pin(actor, imageId, pinned) {
      const isInstalled = await database.transaction(async (tx) => {
        // Wait for a running update: it has already read the pin and would still update the image.
        await store.lockCatalog(tx);
        return store.setPinned(tx, imageId, pinned);
      });
      if (!isInstalled) throw new ApiError('not_installed');
      await activity.record(actor.userId, pinned ? 'image.pinned' : 'image.unpinned', imageId);
    },

    async update(actor, imageId) {
      const updated = await applyUpdate(imageId);
      if (updated !== null) await ensureOnHosts(updated, !bool(updated.lazy));
      const image = await loadImage(imageId);
      await activity.record(actor.userId, 'image.updated', imageId, {
        applied: updated !== null,
        version: image.version,
      });
      return { applied: updated !== null, image };
    },

    async used(hostId, image) {
      if (image === '') return;
      try {
        const installed = (await store.findInstalledByName(database.db, [image])).get(image);
        if (installed === undefined || !bool(installed.lazy)) return;
        const held = (await store.loadImagesOfHost(database.db, hostId)).get(installed.image_id);
        if (needsEnsure(held, installed.version)) ensurer.ensure(hostId, installed);
      } catch (error) {
        logger.error({ err: error, host_id: hostId }, 'images.ensure_failed');
      }
    },

    providers: {
      async declared() {
        const rows = await store.listCatalogImages(database.db);
        return rows
          .flatMap((row) =>
            row.library_provider === 'steam' ? [toProvider(row, config.images.registryHosts)] : [],
          )
          .sort((a, b) => (a.imageId < b.imageId ? -1 : 1));
      },
      async ensureInstalled(imageId) {
        let installed = await store.findInstalled(database.db, imageId);
        if (installed === null) {
          installed = await insert(imageId, false);
          await ensureOnHosts(installed, true);
          const { version } = installed;
          await activity.record(null, 'image.installed', imageId, { version, lazy: false });
        }
        return { runtimePresetId: installed.runtime_preset_id, image: store.nameOf(installed) };
      },
      onSynced(listener) {
        syncedListeners.push(listener);
      },
    },

    close() {
      gaps.close();
      ensurer.close();
      stopping.abort(new FetchRefused('the service is stopping'));
    },
  };
}

const NO_CONTEXT =
  'The commit that this image is built from is not known: the catalog is read at a branch or a tag.';
const PINNED = 'The image is pinned; unpin it first.';

const unknownImage = () => new ApiError('not_found', { message: 'The catalog has no such image.' });

const nameOfVersion = ({
  registry_ref,
  local_tag,
}: Pick<InstalledRow, 'registry_ref' | 'local_tag'>): string => registry_ref ?? local_tag ?? '';

/** Repeats a transaction when a concurrent one has used the same preset name. */
async function retryTakenName<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      if (tries === NAME_TRIES)
        throw new ApiError('conflict', { message: 'The image is being changed; try again.' });
    }
  }
}

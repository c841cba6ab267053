import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import type { ScanReport, ScanTask } from '@footlight/protocol/agent';
import type { Body, LibraryStatus, Success } from '@footlight/protocol/rest';
import { hasProviderApp } from '../catalog/index.ts';
import { instant, instantOrNull, type Tx } from '../platform/database/index.ts';
import type { Caller, NodeCaller } from '../platform/http/message/contract.ts';
import { PUBLIC_INTERNET } from '../platform/outgoing/guarded-fetch.ts';
import type { Platform } from '../platform/platform.ts';
import type { Settings } from '../settings/index.ts';
import type { CollectedHome } from '../storage/index.ts';
import { decideInertReason, discoveryInForce } from './inertness.ts';
import type { ProviderImages } from './providers/images.ts';
import { createProviderApps } from './providers/service.ts';
import { createReports } from './reconcile/reports.ts';
import { createStoreLookup, type StoreTarget } from './reconcile/store-details.ts';
import { createDiscoveryRules, type DiscoveryRules } from './rules/service.ts';
import { createScans, type PassResult } from './scans/service.ts';
import { countScans, listEnded, loadLastReportAt, type ScanRow } from './scans/store.ts';

const RECENT_SCANS = 20;

const STEAM_STORE: StoreTarget = { policy: PUBLIC_INTERNET, url: 'https://store.steampowered.com' };

export interface DiscoveryDeps {
  settings: Settings;
  images: ProviderImages;
  /** Tests replace Steam's store with this. */
  store?: StoreTarget;
}

/** Discovery of titles in homes: scans, rules, provider apps. */
export interface Discovery {
  readonly rules: DiscoveryRules;
  status(): Promise<LibraryStatus>;
  /** @throws ApiError 404, 400 */
  force(actor: Caller, body: Body<'library.scan'>): Promise<Success<'library.scan'>>;
  claim(node: NodeCaller): Promise<ScanTask[]>;
  /** @throws ApiError 401, 409 */
  report(node: NodeCaller, report: ScanReport): Promise<void>;
  /** Does the work of the job library.discovery. @param guard called first in the transaction */
  pass(guard: (tx: Tx) => Promise<void>): Promise<PassResult>;
  /**
   * Deletes the titles of homes that were deleted. Also revokes discovery's entitlements to titles that the person has
   * in no other home. Never rejects: after a failure the next pass does this.
   */
  forget(homes: readonly CollectedHome[]): Promise<void>;
  /** Applies the switch of discovery and the image catalog to the provider apps. Never rejects. */
  settleProviders(): Promise<void>;
  /** Aborts calls to the store. */
  close(): void;
}

export function createDiscovery(platform: Platform, deps: DiscoveryDeps): Discovery {
  const { clock, config, database, jobs, logger } = platform;
  const { db } = database;
  const stopping = new AbortController();

  const inForce = async () => {
    const settings = await deps.settings.current();
    return { settings, ...discoveryInForce(config.discovery, settings) };
  };
  const inertReason = async () =>
    decideInertReason(config.discovery, await deps.settings.current(), await hasProviderApp(db));

  const scans = createScans(platform, {
    gate: async () => ({ reason: await inertReason(), intervalMs: (await inForce()).scanIntervalMs }),
  });
  const store = createStoreLookup({
    ...{ clock, logger, stopping: stopping.signal },
    target: deps.store ?? STEAM_STORE,
  });
  const reports = createReports(platform, {
    store,
    isLookupOn: async () => (await inForce()).storeLookup,
  });
  const providers = createProviderApps(platform, {
    images: deps.images,
    isOn: async () => (await deps.settings.current()).libraryDiscoveryEnabled,
  });

  deps.settings.follow({
    async changing(tx, before, after) {
      const minutes = after.libraryDiscoveryIntervalMinutes;
      if (minutes !== before.libraryDiscoveryIntervalMinutes) {
        await jobs.changeInterval(tx, 'library.discovery', minutes * MINUTE_MS);
      }
      if (after.libraryDiscoveryEnabled && !before.libraryDiscoveryEnabled) {
        await jobs.event(tx, 'library.discovery', null);
      }
    },
    changed: providers.settle,
  });

  jobs.handle('library.discovery', {
    lock: config.discovery.scanInterval && {
      variable: 'SERVICE_LIBRARY_SCAN_INTERVAL',
      ...config.discovery.scanInterval,
    },
    firstIntervalMs: async () => (await deps.settings.current()).libraryDiscoveryIntervalMinutes * MINUTE_MS,
    async run({ fence }) {
      // Retry what failed when discovery was switched on or off.
      await providers.settle();
      // Done even while discovery is off, because homes may be deleted at any time.
      await reports.forget(null, (tx) => fence.check(tx));
      const result = await scans.pass((tx) => fence.check(tx));
      return 'inert' in result
        ? { state: 'skipped', summary: { reason: result.inert } }
        : { state: 'succeeded', summary: { ...result } };
    },
  });

  return {
    rules: createDiscoveryRules(platform),
    force: scans.force,
    claim: scans.claim,
    report: ({ hostId }, report) => reports.take(hostId, report),
    pass: scans.pass,
    forget: (homes) =>
      reports.forget(homes).catch((error: unknown) => logger.error({ err: error }, 'library.forget_failed')),
    settleProviders: providers.settle,

    async status() {
      const { settings, scanIntervalMs, storeLookup } = await inForce();
      return {
        enabled: settings.libraryDiscoveryEnabled,
        storage_provider: settings.storageProvider,
        scan_interval_secs: Math.round((scanIntervalMs ?? 0) / SECOND_MS),
        appdetails_lookup: storeLookup,
        interval_overridden_by_env: config.discovery.scanInterval !== null,
        appdetails_overridden_by_env: config.discovery.storeLookup !== null,
        last_scan_completed_at: instantOrNull(await loadLastReportAt(db)),
        recent_scans: (await listEnded(db, RECENT_SCANS)).map(toRecentScan),
        inert_reason: await inertReason(),
        scans: await countScans(db),
      };
    },

    close: () => stopping.abort(new Error('the service is stopping')),
  };
}

type EndedScan = ScanRow & { username: string; node_name: string };

function toRecentScan(row: EndedScan): LibraryStatus['recent_scans'][number] {
  const { observed, suppressed, created, disabled, granted, revoked, rejected, backfilled } = row;
  return {
    user: row.username,
    host: row.node_name,
    state: row.state === 'failed' ? 'failed' : 'reported',
    completed_at: instant(row.reported_at ?? row.created_at),
    ...{ observed, suppressed, created, disabled, granted, revoked, rejected, backfilled },
    error: row.error,
  };
}

import type { ScanReport } from '@footlight/protocol/agent';
import {
  type AppRow,
  describeTile,
  disableTiles,
  insertDiscoveredTiles,
  insertProviderGrants,
  lockApp,
  lockDiscoveryTiles,
  lockTileGrants,
  lockUserShared,
  recordCatalogChange,
  revokeProviderGrants,
  revokeProviderGrantsOf,
} from '../../catalog/index.ts';
import { flag, type Tx } from '../../platform/database/index.ts';
import { ApiError, badNodeCredential } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import type { CollectedHome } from '../../storage/index.ts';
import { loadRules } from '../rules/store.ts';
import { countCreatedTiles, endScan, findScanOfHost, listGoneHomes, type ScanRow } from '../scans/store.ts';
import {
  decideReconcile,
  type ReconcileChanges,
  type StoreDetails,
  type TileRecord,
  tilesAllowed,
} from './decision.ts';
import { planLookups } from './lookups.ts';
import {
  deleteObservations,
  loadObserved,
  loadObservedElsewhere,
  type ScannedHome,
  upsertObservations,
} from './store.ts';
import type { StoreLookup } from './store-details.ts';

/** Longest stored error of a failed scan (characters). */
const MAX_ERROR_CHARACTERS = 512;
/**
 * Maximum changed apps that are recorded one by one. With more changes all cached lists are read again. Chosen, not
 * measured.
 */
const MAX_NOTED_APPS = 16;

/** Processes the agents' reports. */
export interface Reports {
  /**
   * Applies a report of a claimed scan in one transaction.
   * @throws ApiError 401 for an unknown scan and for a scan of another host, 409 when the scan is not claimed
   */
  take(hostId: string, report: ScanReport): Promise<void>;
  /**
   * Deletes the observations of homes that no longer exist, and their effects. This is needed because no scan reports
   * the missing titles of a deleted home. Each home has its own transaction.
   * @param homes null: all homes
   * @param guard called first in each transaction; it may throw to cancel the work
   */
  forget(homes: readonly CollectedHome[] | null, guard?: (tx: Tx) => Promise<void>): Promise<void>;
}

export function createReports(
  platform: Platform,
  deps: { store: StoreLookup; isLookupOn: () => Promise<boolean> },
): Reports {
  const { database, clock, random, logger } = platform;

  return {
    async take(hostId, report) {
      const scan = await findScanOfHost(database.db, report.scan_id, hostId);
      if (scan === null) throw badNodeCredential();
      if (scan.state !== 'claimed') throw notClaimed();
      if (!report.ok) {
        const outcome = { state: 'failed' as const, error: shortError(report), reported_at: clock.nowMs() };
        if (!(await endScan(database.db, scan.id, outcome))) throw notClaimed();
        return;
      }
      // Look up before the transaction, because a transaction must not wait for the network.
      const details = (await deps.isLookupOn()) ? await lookUp(scan, report) : null;
      const counts = await database.transaction((tx) => reconcile(tx, scan, report, details));
      logger.info({ scan_id: scan.id, host_id: hostId, ...counts }, 'library.reconciled');
    },

    async forget(homes, guard = async () => undefined) {
      const gone =
        homes === null
          ? await listGoneHomes(database.db, null)
          : (await Promise.all(homes.map((home) => listGoneHomes(database.db, home)))).flat();
      for (const home of gone)
        await database.transaction(async (tx) => {
          await guard(tx);
          await forgetHome(tx, home);
        });
    },
  };

  async function forgetHome(tx: Tx, home: ScannedHome): Promise<void> {
    if (!(await lockUserShared(tx, home.userId))) return;
    const parent = await lockApp(tx, home.appId);
    if (parent === null) return;
    const source = home.source as AppRow['external_source'];
    const tiles = tilesById(await lockDiscoveryTiles(tx, parent.id, source));
    const grants = await lockTileGrants(tx, parent.id, home.userId);
    // The same rule as for a report of an empty home.
    const changes = decideReconcile({
      entries: [],
      complete: true,
      rules: new Map(),
      tiles,
      grants: new Map(grants.map((row) => [row.app_id, { id: row.id, grantedBy: row.granted_by }])),
      observed: await loadObserved(tx, home),
      elsewhere: await loadObservedElsewhere(tx, home),
      newTiles: 0,
      store: null,
    });
    const revoked = await revokeProviderGrants(tx, changes.revoke);
    await deleteObservations(tx, home, changes.unseen);
    await noteChanges(tx, home.userId, changes, revoked);
    logger.info({ host_id: home.hostId, titles: changes.unseen.length, revoked }, 'library.forgotten');
  }

  async function lookUp(scan: ScanRow, report: ScanReport): Promise<Map<string, StoreDetails>> {
    const facts = await database.transaction(async (tx) => {
      const parent = await lockApp(tx, scan.app_id);
      if (parent === null) return null;
      const home = homeOf(scan, parent);
      return {
        rules: await loadRules(tx, scan.app_id, home.source),
        tiles: tilesById(await lockDiscoveryTiles(tx, parent.id, parent.library_provider)),
        observed: await loadObserved(tx, home),
      };
    });
    if (facts === null) return new Map();
    return deps.store.find(planLookups({ entries: report.entries, ...facts }));
  }

  async function reconcile(
    tx: Tx,
    scan: ScanRow,
    report: ScanReport,
    details: ReadonlyMap<string, StoreDetails> | null,
  ) {
    const nowMs = clock.nowMs();
    // If the app, the user or the host of the scan was deleted, the scan was deleted too.
    if (!(await lockUserShared(tx, scan.user_id))) throw badNodeCredential();
    const parent = await lockApp(tx, scan.app_id);
    if (parent === null) throw badNodeCredential();
    if (parent.library_provider === '') {
      const error = 'the app is no library provider any more';
      if (!(await endScan(tx, scan.id, { state: 'failed', error, reported_at: nowMs }))) throw notClaimed();
      return {};
    }
    const home = homeOf(scan, parent);
    const tiles = tilesById(await lockDiscoveryTiles(tx, parent.id, parent.library_provider));
    const grants = await lockTileGrants(tx, parent.id, scan.user_id);
    const changes = decideReconcile({
      entries: report.entries,
      complete: report.complete !== false,
      rules: await loadRules(tx, parent.id, home.source),
      tiles,
      grants: new Map(grants.map((row) => [row.app_id, { id: row.id, grantedBy: row.granted_by }])),
      observed: await loadObserved(tx, home),
      elsewhere: await loadObservedElsewhere(tx, home),
      newTiles: tilesAllowed({ created: await countCreatedTiles(tx, scan), ofLauncher: tiles.size }),
      store: details,
    });
    const revoked = await apply(tx, { scan, parent, home, tiles, changes, nowMs });
    const described = changes.create.filter(({ description }) => description !== '').length;
    const counts = {
      observed: changes.observedCount,
      suppressed: changes.suppressedCount,
      created: changes.create.length,
      disabled: changes.disable.length,
      granted: changes.grant.length,
      revoked,
      rejected: changes.rejectedCount,
      backfilled: changes.describe.length + described,
    };
    const ended = await endScan(tx, scan.id, {
      state: 'reported',
      complete: flag(report.complete !== false),
      error: shortError(report),
      reported_at: nowMs,
      ...counts,
    });
    // A concurrent call ended the scan first, or it is pending again. The rollback removes all changes of this call.
    if (!ended) throw notClaimed();
    await noteChanges(tx, scan.user_id, changes, revoked);
    return counts;
  }

  /** @returns number of revoked entitlements */
  async function apply(
    tx: Tx,
    of: {
      scan: ScanRow;
      parent: AppRow;
      home: ScannedHome;
      tiles: ReadonlyMap<string, TileRecord>;
      changes: ReconcileChanges;
      nowMs: number;
    },
  ): Promise<number> {
    const { scan, parent, home, tiles, changes, nowMs } = of;
    const created = changes.create.map((tile) => ({ ...tile, id: random.uuid() }));
    const tileIds = new Map([
      ...[...tiles].map(([externalId, { id }]) => [externalId, id] as const),
      ...created.map(({ externalId, id }) => [externalId, id] as const),
    ]);
    await disableTiles(tx, changes.disable, nowMs);
    for (const { tileId, description } of changes.describe)
      await describeTile(tx, tileId, description, nowMs);
    await insertDiscoveredTiles(tx, parent, created, nowMs);
    const grants = changes.grant.map((externalId) => ({
      id: random.uuid(),
      userId: scan.user_id,
      appId: tileIds.get(externalId) ?? '',
      sourceRef: `library:${home.source}:${externalId}`,
    }));
    await insertProviderGrants(tx, grants, nowMs);
    const revoked =
      (await revokeProviderGrantsOf(tx, changes.suppressedTiles)) +
      (await revokeProviderGrants(tx, changes.revoke));
    await upsertObservations(tx, home, changes.observations, nowMs);
    await deleteObservations(tx, home, changes.unseen);
    return revoked;
  }

  /** Call this last, because it locks the row of the catalog version, which every change of the catalog increments. */
  async function noteChanges(
    tx: Tx,
    userId: string,
    changes: ReconcileChanges,
    revoked: number,
  ): Promise<void> {
    const isEverybodys = revoked > changes.revoke.length || changes.create.length > 0;
    const changed = [...changes.disable, ...changes.describe.map(({ tileId }) => tileId)];
    if (isEverybodys || changed.length > MAX_NOTED_APPS) {
      await recordCatalogChange(tx, 'everything');
      return;
    }
    for (const appId of changed) await recordCatalogChange(tx, { appId });
    if (changes.grant.length > 0 || revoked > 0) await recordCatalogChange(tx, { userId });
  }
}

const homeOf = (scan: ScanRow, parent: AppRow): ScannedHome => ({
  userId: scan.user_id,
  appId: scan.app_id,
  hostId: scan.host_id,
  source: parent.library_provider,
});

type LockedTiles = Awaited<ReturnType<typeof lockDiscoveryTiles>>;

const tilesById = (rows: LockedTiles): Map<string, TileRecord> =>
  new Map(
    rows.map(({ id, external_id, enabled, origin, description }) => [
      external_id,
      { id, enabled: enabled === 1, origin, description },
    ]),
  );

const shortError = ({ error }: ScanReport): string =>
  [...(error ?? '')].slice(0, MAX_ERROR_CHARACTERS).join('');

const notClaimed = () => new ApiError('conflict', { message: 'The scan is not claimed, or has ended.' });

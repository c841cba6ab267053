/**
 * Decides which tiles, entitlements and observations a scan report changes. Pure: the function receives facts and
 * returns changes. Source: docs/apps.md, "After a scan".
 */
import {
  EXTERNAL_ID_PATTERN,
  FULLY_INSTALLED,
  MAX_SCAN_ENTRIES,
  type ScanEntry,
} from '@footlight/protocol/agent';
import { decideSuppression, type Suppression } from './ladder.ts';

/** A tile of the provider app. */
export interface TileRecord {
  id: string;
  enabled: boolean;
  /** discovered: discovery may disable and describe it; manual: an administrator created it. */
  origin: 'manual' | 'discovered';
  description: string;
}

/** The scanning user's own entitlement to a tile. */
export interface GrantRecord {
  id: string;
  grantedBy: 'admin' | 'provider' | 'migration';
}

/** A stored observation of a title in the scanned home, from before the report. */
export interface ObservedTitle {
  name: string;
  suppressedBy: string;
}

/** The store's data about a title. */
export interface StoreDetails {
  type: string;
  /** One paragraph; "": the store has no description. */
  description: string;
}

/** The facts for the decision. Maps are keyed by external id unless a comment names another key. */
export interface ReconcileFacts {
  entries: readonly Pick<ScanEntry, 'external_id' | 'name' | 'state_flags'>[];
  /** false: titles that are missing from the report are kept. */
  complete: boolean;
  rules: ReadonlyMap<string, 'ignore' | 'allow'>;
  tiles: ReadonlyMap<string, TileRecord>;
  /** The user's own entitlements, by tile id. */
  grants: ReadonlyMap<string, GrantRecord>;
  /** Stored observations of this user, app and host. */
  observed: ReadonlyMap<string, ObservedTitle>;
  /** Titles in the user's homes of this app on other hosts. */
  elsewhere: ReadonlySet<string>;
  /** Maximum tiles that may be created. */
  newTiles: number;
  /** Answers of the store; null: the look-up is off. */
  store: ReadonlyMap<string, StoreDetails> | null;
}

export interface ReconcileChanges {
  /** Observations to insert or update with the time of the report. */
  observations: { externalId: string; name: string; suppressedBy: Suppression | '' }[];
  /** External ids of this home's observations that must be deleted. */
  unseen: string[];
  create: { externalId: string; name: string; description: string }[];
  /** Ids of tiles to disable. */
  disable: string[];
  /** External ids of titles to grant; the tile exists or is created. */
  grant: string[];
  /** Ids of tiles for which all entitlements from the provider are deleted. */
  suppressedTiles: string[];
  /** Ids of the user's entitlements from the provider that must be deleted. */
  revoke: string[];
  describe: { tileId: string; description: string }[];
  /** Number of different valid titles in the report. */
  observedCount: number;
  suppressedCount: number;
  /** Number of entries without a valid id. */
  rejectedCount: number;
}

interface Title {
  name: string;
  installed: boolean;
}

export function decideReconcile(facts: ReconcileFacts): ReconcileChanges {
  const { titles, rejectedCount } = readTitles(facts);
  const changes: ReconcileChanges = {
    observations: [],
    unseen: [],
    create: [],
    disable: [],
    grant: [],
    suppressedTiles: [],
    revoke: [],
    describe: [],
    observedCount: titles.size,
    suppressedCount: 0,
    rejectedCount,
  };
  let kept = facts.observed.size;
  for (const [externalId, title] of titles) {
    // An incomplete report deletes no observation. Without this limit the number of observations could grow without
    // end.
    if (!facts.complete && !facts.observed.has(externalId)) {
      if (kept >= MAX_SCAN_ENTRIES) continue;
      kept += 1;
    }
    const suppressedBy = decideSuppression({
      externalId,
      name: title.name,
      rule: facts.rules.get(externalId) ?? null,
      storeType: storeTypeOf(facts, externalId),
    });
    changes.observations.push({ externalId, name: title.name, suppressedBy: suppressedBy ?? '' });
    if (suppressedBy === null) publish(facts, changes, externalId, title);
    else suppress(facts, changes, externalId);
  }
  if (facts.complete) forgetMissing(facts, changes, titles);
  return changes;
}

/** Merges entries of the same title: it is installed if one of its entries is installed, and the first name is used. */
function readTitles({ entries, observed }: ReconcileFacts): {
  titles: Map<string, Title>;
  rejectedCount: number;
} {
  const titles = new Map<string, Title>();
  let rejectedCount = 0;
  for (const { external_id: id, name, state_flags } of entries) {
    if (!EXTERNAL_ID_PATTERN.test(id)) {
      rejectedCount += 1;
      continue;
    }
    const former = titles.get(id);
    const given = former?.name || name.trim();
    titles.set(id, {
      name: given,
      installed: former?.installed === true || hasBit(state_flags, FULLY_INSTALLED),
    });
  }
  for (const [id, title] of titles) {
    if (title.name === '') title.name = observed.get(id)?.name ?? '';
  }
  return { titles, rejectedCount };
}

/** Arithmetic, because bitwise operators would cut numbers of more than 32 bits. */
const hasBit = (flags: number, bit: number): boolean => Math.floor(flags / bit) % 2 === 1;

/** Type of a title in the store. If the store did not answer this time, its last answer is used. */
function storeTypeOf({ store, observed }: ReconcileFacts, externalId: string): string | null {
  if (store === null) return null;
  const details = store.get(externalId);
  if (details !== undefined) return details.type;
  return observed.get(externalId)?.suppressedBy === 'appdetails' ? 'remembered' : null;
}

/**
 * Maximum tiles that the homes of one person may add while their scans are kept (30 days); equal to the maximum titles
 * of one report. The limit is needed because a person can write manifests with invented ids, and their tiles stay.
 * Chosen, not measured.
 */
const MAX_NEW_TILES = MAX_SCAN_ENTRIES;
/**
 * Maximum tiles of one launcher that discovery may create. Each report loads and locks all of them, and a host reports
 * for every home on it, so a hostile host with 100 homes could create a million. With 80,000 tiles a report blocked
 * SQLite's thread for 1.0 to 3.8 s (measured); this limit means 0.25 to 1 s.
 */
const MAX_LAUNCHER_TILES = 20_000;

/**
 * Number of tiles that a report may add.
 * @param created tiles that were created by the stored scans of this person's homes
 * @param ofLauncher number of tiles of the launcher
 */
export const tilesAllowed = ({ created, ofLauncher }: { created: number; ofLauncher: number }): number =>
  Math.max(0, Math.min(MAX_NEW_TILES - created, MAX_LAUNCHER_TILES - ofLauncher));

function publish(
  { tiles, grants, newTiles, store }: ReconcileFacts,
  changes: ReconcileChanges,
  externalId: string,
  { name, installed }: Title,
): void {
  const description = store?.get(externalId)?.description ?? '';
  const tile = tiles.get(externalId);
  if (tile?.origin === 'discovered' && tile.description.trim() === '' && description !== '') {
    changes.describe.push({ tileId: tile.id, description });
  }
  if (!installed) return;
  // Limit new tiles, because every user can write manifests of titles that do not exist.
  if (tile === undefined && changes.create.length >= newTiles) return;
  if (tile === undefined) changes.create.push({ externalId, name: name || externalId, description });
  if (tile === undefined || !grants.has(tile.id)) changes.grant.push(externalId);
}

function suppress({ tiles }: ReconcileFacts, changes: ReconcileChanges, externalId: string): void {
  changes.suppressedCount += 1;
  const tile = tiles.get(externalId);
  if (tile === undefined) return;
  if (tile.enabled && tile.origin === 'discovered') changes.disable.push(tile.id);
  changes.suppressedTiles.push(tile.id);
}

function forgetMissing(
  { tiles, grants, observed, elsewhere }: ReconcileFacts,
  changes: ReconcileChanges,
  titles: ReadonlyMap<string, Title>,
): void {
  changes.unseen = [...observed.keys()].filter((id) => !titles.has(id));
  for (const [externalId, tile] of tiles) {
    const grant = grants.get(tile.id);
    const isSeen = titles.has(externalId) || elsewhere.has(externalId);
    if (grant?.grantedBy === 'provider' && !isSeen) changes.revoke.push(grant.id);
  }
}

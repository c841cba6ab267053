/**
 * What a scan report changes: tiles, entitlements and observations. Pure: facts in, changes out.
 * Source: docs/apps.md, "After a scan".
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
  /** discovered: discovery may disable and describe it; manual: an administrator's. */
  origin: 'manual' | 'discovered';
  description: string;
}

/** The scanning user's own entitlement to a tile. */
export interface GrantRecord {
  id: string;
  grantedBy: 'admin' | 'provider' | 'migration';
}

/** An observation of the scanned home before the report. */
export interface ObservedTitle {
  name: string;
  suppressedBy: string;
}

/** What the store says about a title. */
export interface StoreDetails {
  type: string;
  /** One paragraph; "" is none. */
  description: string;
}

/** Everything that decides. Maps are by external id unless they say otherwise. */
export interface ReconcileFacts {
  entries: readonly Pick<ScanEntry, 'external_id' | 'name' | 'state_flags'>[];
  /** false: titles that are missing from the report are kept. */
  complete: boolean;
  rules: ReadonlyMap<string, 'ignore' | 'allow'>;
  tiles: ReadonlyMap<string, TileRecord>;
  /** The user's own rows, by tile id. */
  grants: ReadonlyMap<string, GrantRecord>;
  /** Of this user, app and host. */
  observed: ReadonlyMap<string, ObservedTitle>;
  /** Titles in the user's homes of this app on other hosts. */
  elsewhere: ReadonlySet<string>;
  /** Tiles that may be created (count). */
  newTiles: number;
  /** Answers of the store; null: the lookup is off. */
  store: ReadonlyMap<string, StoreDetails> | null;
}

export interface ReconcileChanges {
  /** Upserted with the time of the report. */
  observations: { externalId: string; name: string; suppressedBy: Suppression | '' }[];
  /** External ids that are deleted from the observations of this home. */
  unseen: string[];
  create: { externalId: string; name: string; description: string }[];
  /** Ids of tiles. */
  disable: string[];
  /** External ids; their tile exists or is created. */
  grant: string[];
  /** Ids of tiles that lose the provider's entitlements of everybody. */
  suppressedTiles: string[];
  /** Ids of the user's provider entitlements. */
  revoke: string[];
  describe: { tileId: string; description: string }[];
  /** Valid titles of the report, each once. */
  observedCount: number;
  suppressedCount: number;
  /** Entries without a valid id. */
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
    // An incomplete report deletes no observation; without this bound ever more titles would pile up.
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

/** One title of several entries is installed when one of them is; the first name counts. */
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

/** Bitwise operators would cut a number of more than 32 bits. */
const hasBit = (flags: number, bit: number): boolean => Math.floor(flags / bit) % 2 === 1;

/** A title that the store could not be asked about now keeps the store's last answer. */
function storeTypeOf({ store, observed }: ReconcileFacts, externalId: string): string | null {
  if (store === null) return null;
  const details = store.get(externalId);
  if (details !== undefined) return details.type;
  return observed.get(externalId)?.suppressedBy === 'appdetails' ? 'remembered' : null;
}

/**
 * Tiles that the homes of one person may add while their scans are kept (30 days): as many titles as one report has. A
 * person can write manifests with invented ids, and their tiles stay. Chosen, not measured.
 */
const MAX_NEW_TILES = MAX_SCAN_ENTRIES;
/**
 * Tiles of one launcher that discovery may make. Each report loads and locks all of them, and a host reports for every
 * home on it: a hostile one with 100 homes would make a million. A report held SQLite's thread for 1.0 to 3.8 s at
 * 80,000 tiles (measured), so this limit means 0.25 to 1 s.
 */
const MAX_LAUNCHER_TILES = 20_000;

/**
 * How many tiles a report may add.
 * @param created by the homes of its person while their scans are kept
 * @param ofLauncher tiles that the launcher has
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
  // Anybody can write manifests of titles that do not exist.
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

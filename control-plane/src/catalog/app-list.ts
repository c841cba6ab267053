import type { AppListItem } from '@footlight/protocol/rest';
import { LRUCache } from 'lru-cache';
import type { Database } from '../platform/database/index.ts';
import { KeptBody } from '../platform/http/kept-body.ts';
import type { CatalogDeps, DisplayStreams } from './deps.ts';
import { favouritesReader } from './favourites/store.ts';
import { nextCursor, readCursor } from './paging.ts';
import { type ListRow, toListItem } from './record.ts';
import {
  appsReader,
  entitledAppsReader,
  entitledIdsReader,
  grantsReader,
  orderReader,
  type Page,
  versionReader,
} from './store.ts';

const MAX_BODIES = 2_000;
const MAX_BODY_BYTES = 64 * 1024 * 1024;
/** A catalog up to this many apps is kept for everybody; of a larger one only finished pages are. */
const MAX_APPS = 10_000;

/** The list of apps that people see, kept until something changed it. */
export interface AppList {
  /** JSON of one page of the user's apps. @throws ApiError 400 for a cursor that was not made here */
  body(userId: string, query: { limit: number; cursor?: string | undefined }): Promise<KeptBody>;
}

/** What all lists of one version of the catalog have in common; each part is read when it is first needed. */
interface Shared {
  readonly version: number;
  displayStreams: DisplayStreams | null;
  /** Every enabled app, newest first, and those of everybody; 'large' for a catalog that is not kept. */
  order: { ids: readonly string[]; everybodys: ReadonlySet<string> } | 'large' | null;
  /** Apps as they stand in lists of those who have not marked them. */
  readonly items: Map<string, Item>;
}

interface Item {
  readonly item: AppListItem;
  /** Its JSON and a comma. */
  readonly bytes: Buffer;
}

/**
 * Keeps finished pages by user, and what they are made of for everybody. The version of the catalog is read for each
 * request and before anything else: a write in between makes what is kept older than its version says, never newer.
 */
export function createAppList(database: Database, deps: Pick<CatalogDeps, 'loadDisplayStreams'>): AppList {
  const loadVersion = versionReader(database);
  const loadPage = entitledAppsReader(database);
  const loadIds = entitledIdsReader(database);
  const loadApps = appsReader(database);
  const loadOrder = orderReader(database);
  const loadGrants = grantsReader(database);
  const loadFavourites = favouritesReader(database);
  const bodies = new LRUCache<string, { version: number; body: KeptBody }>({
    max: MAX_BODIES,
    maxSize: MAX_BODY_BYTES,
    sizeCalculation: ({ body }) => body.maxBytes,
  });
  let latest: Shared | null = null;

  function sharedOf(version: number): Shared {
    if (latest?.version === version) return latest;
    latest = { version, displayStreams: null, order: null, items: new Map() };
    return latest;
  }

  /** Ids of the page's apps, and of one more where there is a next page. */
  async function idsOf(userId: string, page: Page, shared: Shared): Promise<string[]> {
    shared.order ??= (await loadOrder(MAX_APPS)) ?? 'large';
    if (shared.order === 'large') return loadIds(userId, page);
    const { ids, everybodys } = shared.order;
    const own = await loadGrants(userId);
    const found: string[] = [];
    let skipped = 0;
    for (const id of ids) {
      if (!everybodys.has(id) && !own.has(id)) continue;
      if (skipped < page.offset) skipped += 1;
      else found.push(id);
      if (found.length > page.limit) break;
    }
    return found;
  }

  /** The page's apps as bytes, and one more where there is a next page. */
  async function loadItems(userId: string, page: Page, shared: Shared): Promise<Buffer[]> {
    const { items } = shared;
    const displayStreams = shared.displayStreams ?? (await deps.loadDisplayStreams(database.db));
    shared.displayStreams = displayStreams;
    const favourites = await loadFavourites(userId);
    const finish = (row: ListRow): Item => {
      const item = toListItem(row, { favourite: false, displayStream: displayStreams(row) });
      const finished = { item, bytes: bytesOf(item) };
      if (items.size < MAX_APPS) items.set(item.id, finished);
      return finished;
    };
    const shown = ({ item, bytes }: Item) =>
      favourites.has(item.id) ? bytesOf({ ...item, favourite: true }) : bytes;

    // The first list after a write stands alone: one query has all of it.
    if (items.size === 0) return (await loadPage(userId, page)).map((row) => shown(finish(row)));
    const ids = await idsOf(userId, page, shared);
    const missing = await loadApps(ids.filter((id) => !items.has(id)));
    const fresh = new Map(missing.map((row) => [row.id, finish(row)]));
    return ids.flatMap((id) => {
      const found = items.get(id) ?? fresh.get(id);
      // An app that went between two reads: its going makes the next list another.
      return found === undefined ? [] : [shown(found)];
    });
  }

  return {
    async body(userId, query) {
      const page = { offset: readCursor(query.cursor), limit: query.limit };
      const version = await loadVersion();
      const key = `${userId}/${page.offset}/${page.limit}`;
      const kept = bodies.get(key);
      if (kept?.version === version) return kept.body;
      const items = await loadItems(userId, page, sharedOf(version));
      const body = new KeptBody(listOf(items.slice(0, page.limit), nextCursor(page, items.length)));
      bodies.set(key, { version, body });
      return body;
    },
  };
}

const bytesOf = (item: AppListItem): Buffer => Buffer.from(`${JSON.stringify(item)},`);

function listOf(items: readonly Buffer[], cursor: string | null): Buffer {
  const last = items.at(-1);
  const withoutComma = last === undefined ? [] : [...items.slice(0, -1), last.subarray(0, -1)];
  const end = Buffer.from(`],"next_cursor":${JSON.stringify(cursor)}}`);
  return Buffer.concat([Buffer.from('{"items":['), ...withoutComma, end]);
}

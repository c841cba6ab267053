import type { AppListItem } from '@footlight/protocol/rest';
import { LRUCache } from 'lru-cache';
import type { Database } from '../platform/database/index.ts';
import { KeptBody } from '../platform/http/kept-body.ts';
import type { CatalogDeps, DisplayStreams } from './deps.ts';
import { favouritesReader } from './favourites/store.ts';
import { nextCursor, readCursor } from './paging.ts';
import { LIST_COLUMNS, type ListRow, ownStream, toListItem } from './record.ts';
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
/** A catalog up to this many apps is kept for everybody. */
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
  /** Whether a list of this version was made. */
  begun: boolean;
}

/** An app as it stands in lists of those who have not marked it. */
interface Item {
  readonly row: ListRow;
  readonly item: AppListItem;
  /** JSON of the item, and a comma. */
  readonly bytes: Buffer;
  /** The last version for which it is known to hold. */
  version: number;
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
  const items = new LRUCache<string, Item>({ max: MAX_APPS });
  let latest: Shared | null = null;

  function sharedOf(version: number): Shared {
    if (latest?.version === version) return latest;
    latest = { version, displayStreams: null, order: null, begun: false };
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

  /** What a row looks like now; nothing is made again for one that is as it was. */
  function finish(row: ListRow, { version }: Shared, displayStreams: DisplayStreams): Item {
    const displayStream = displayStreams(row);
    const kept = items.get(row.id);
    if (
      kept &&
      isSame(kept.row, row) &&
      isStream(kept.item.display_stream, displayStream ?? ownStream(row))
    ) {
      kept.version = version;
      return kept;
    }
    const item = toListItem(row, { favourite: false, displayStream });
    const made = { row, item, bytes: bytesOf(item), version };
    items.set(row.id, made);
    return made;
  }

  /** The page's apps as bytes, and one more where there is a next page. */
  async function loadItems(userId: string, page: Page, shared: Shared): Promise<Buffer[]> {
    // The first list after a write stands alone: one query has all of it.
    const [displayStreams, favourites, whole] = await Promise.all([
      shared.displayStreams ?? deps.loadDisplayStreams(database.db),
      loadFavourites(userId),
      shared.begun ? null : loadPage(userId, page),
    ]);
    shared.displayStreams = displayStreams;
    const shown = ({ item, bytes }: Item) =>
      favourites.has(item.id) ? bytesOf({ ...item, favourite: true }) : bytes;

    if (whole !== null) {
      shared.begun = true;
      return whole.map((row) => shown(finish(row, shared, displayStreams)));
    }
    const ids = await idsOf(userId, page, shared);
    const found = new Map<string, Item>();
    for (const id of ids) {
      const kept = items.get(id);
      if (kept?.version === shared.version) found.set(id, kept);
    }
    for (const row of await loadApps(ids.filter((id) => !found.has(id)))) {
      found.set(row.id, finish(row, shared, displayStreams));
    }
    return ids.flatMap((id) => {
      const item = found.get(id);
      // An app that went between two reads: its going makes the next list another.
      return item === undefined ? [] : [shown(item)];
    });
  }

  return {
    async body(userId, query) {
      const page = { offset: readCursor(query.cursor), limit: query.limit };
      const version = await loadVersion();
      const key = `${userId}/${page.offset}/${page.limit}`;
      const kept = bodies.get(key);
      if (kept?.version === version) return kept.body;
      const apps = await loadItems(userId, page, sharedOf(version));
      const body = new KeptBody(listOf(apps.slice(0, page.limit), nextCursor(page, apps.length)));
      bodies.set(key, { version, body });
      return body;
    },
  };
}

const isSame = (a: ListRow, b: ListRow): boolean => LIST_COLUMNS.every((column) => a[column] === b[column]);

type Stream = AppListItem['display_stream'];

const isStream = (a: Stream, b: Stream): boolean =>
  a.width === b.width && a.height === b.height && a.fps === b.fps && a.bitrate_kbps === b.bitrate_kbps;

const bytesOf = (item: AppListItem): Buffer => Buffer.from(`${JSON.stringify(item)},`);

function listOf(items: readonly Buffer[], cursor: string | null): Buffer {
  const last = items.at(-1);
  const withoutComma = last === undefined ? [] : [...items.slice(0, -1), last.subarray(0, -1)];
  const end = Buffer.from(`],"next_cursor":${JSON.stringify(cursor)}}`);
  return Buffer.concat([Buffer.from('{"items":['), ...withoutComma, end]);
}

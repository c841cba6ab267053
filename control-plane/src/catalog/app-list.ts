import type { AppListItem } from '@footlight/protocol/rest';
import { LRUCache } from 'lru-cache';
import type { Database } from '../platform/database/index.ts';
import { KeptBody } from '../platform/http/kept-body.ts';
import type { CatalogDeps, DisplayStreams } from './deps.ts';
import { favouritesReader } from './favourites/store.ts';
import { nextCursor, readCursor } from './paging.ts';
import { type ListRow, toListItem } from './record.ts';
import { appsReader, entitledAppsReader, entitledIdsReader, type Page, versionReader } from './store.ts';

const MAX_BODIES = 2_000;
const MAX_BODY_BYTES = 64 * 1024 * 1024;
/** Apps whose text is kept for everybody; those of a larger catalog are read again for each person. */
const MAX_TEXTS = 10_000;

/** The list of apps that people see, kept until something changed it. */
export interface AppList {
  /** JSON of one page of the user's apps. @throws ApiError 400 for a cursor that was not made here */
  body(userId: string, query: { limit: number; cursor?: string | undefined }): Promise<KeptBody>;
}

/** What all lists of one version of the catalog have in common. */
interface Shared {
  readonly version: number;
  /** null until the first list needs them. */
  displayStreams: DisplayStreams | null;
  /** Apps as they stand in lists of those who have not marked them. */
  readonly items: Map<string, Item>;
}

interface Item {
  readonly item: AppListItem;
  readonly text: string;
}

/**
 * Keeps finished pages by user, and what they are made of for everybody. The version of the catalog is read for each
 * request and before anything else: a write in between makes what is kept older than its version says, never newer.
 */
export function createAppList(database: Database, deps: Pick<CatalogDeps, 'loadDisplayStreams'>): AppList {
  const loadVersion = versionReader(database);
  const loadIds = entitledIdsReader(database);
  const loadPage = entitledAppsReader(database);
  const loadApps = appsReader(database);
  const loadFavourites = favouritesReader(database);
  const bodies = new LRUCache<string, { version: number; body: KeptBody }>({
    max: MAX_BODIES,
    maxSize: MAX_BODY_BYTES,
    sizeCalculation: ({ body }) => body.maxBytes,
  });
  let latest: Shared | null = null;

  function sharedOf(version: number): Shared {
    if (latest?.version === version) return latest;
    latest = { version, displayStreams: null, items: new Map() };
    return latest;
  }

  /** Texts of the page's apps, and of one more where there is a next page. */
  async function loadTexts(userId: string, page: Page, shared: Shared): Promise<string[]> {
    const { items } = shared;
    const displayStreams = shared.displayStreams ?? (await deps.loadDisplayStreams(database.db));
    shared.displayStreams = displayStreams;
    const favourites = await loadFavourites(userId);
    const finished = (row: ListRow): Item => {
      const item = toListItem(row, { favourite: false, displayStream: displayStreams(row) });
      const entry = { item, text: JSON.stringify(item) };
      if (items.size < MAX_TEXTS) items.set(item.id, entry);
      return entry;
    };
    const textOf = ({ item, text }: Item) =>
      favourites.has(item.id) ? JSON.stringify({ ...item, favourite: true }) : text;

    if (items.size === 0) return (await loadPage(userId, page)).map((row) => textOf(finished(row)));
    // Somebody's list of this version was made before, and most of the apps were in it.
    const ids = await loadIds(userId, page);
    const fresh = new Map<string, Item>();
    for (const row of await loadApps(ids.filter((id) => !items.has(id)))) fresh.set(row.id, finished(row));
    return ids.flatMap((id) => {
      const entry = items.get(id) ?? fresh.get(id);
      // An app that was deleted between the two reads; its own write makes the next list another.
      return entry === undefined ? [] : [textOf(entry)];
    });
  }

  return {
    async body(userId, query) {
      const page = { offset: readCursor(query.cursor), limit: query.limit };
      const version = await loadVersion();
      const key = `${userId}/${page.offset}/${page.limit}`;
      const kept = bodies.get(key);
      if (kept?.version === version) return kept.body;
      const texts = await loadTexts(userId, page, sharedOf(version));
      const items = texts.slice(0, page.limit).join(',');
      const cursor = JSON.stringify(nextCursor(page, texts.length));
      const body = new KeptBody(`{"items":[${items}],"next_cursor":${cursor}}`);
      bodies.set(key, { version, body });
      return body;
    },
  };
}

import { LRUCache } from 'lru-cache';
import { coalesceReads, type Database } from '../platform/database/index.ts';
import { CachedBody } from '../platform/http/message/cached-body.ts';
import { nextOffset, type OffsetPage, readOffset } from '../platform/offset-cursor.ts';
import { changesReader, loadVersion } from './changes.ts';
import type { CatalogDeps } from './deps.ts';
import { loadFavourites } from './favourites/store.ts';
import { bytesOf, ListedCatalog, type Reader } from './listed-catalog.ts';
import { toListItem } from './record.ts';
import { listEnabledApps, listEntitledApps, loadGrants } from './store.ts';

/** Limits of the cached answers: their number and their total bytes. Chosen, not measured. */
const MAX_BODIES = 2_000;
const MAX_BODY_BYTES = 64 * 1024 * 1024;
/** Maximum accounts whose entitlements and favourites are cached. Chosen, not measured. */
const MAX_READERS = 10_000;
/** The catalog is cached up to this number of enabled apps. Pages of a larger catalog are read one by one. */
const MAX_APPS = 10_000;
/**
 * Maximum number of times that one request starts again because another request replaced the catalog during the read.
 */
const MAX_STARTS = 4;

/** The cached list of apps. */
export interface AppList {
  /** The catalog with every change committed before this call. */
  current(): Promise<ListedCatalog>;
  /**
   * JSON of one page of the user's apps.
   * @param catalogRead result of current(), called since the request arrived
   * @throws ApiError 400 for a cursor that this list did not return
   */
  body(
    userId: string,
    query: { limit: number; cursor?: string | undefined },
    catalogRead?: Promise<ListedCatalog>,
  ): Promise<CachedBody>;
}

/**
 * Caches finished pages by user, and the catalog for all users. Each request first reads the changes, so a cached page
 * is never older than the request.
 * @param maxApps cached enabled apps
 */
export function createAppList(
  database: Database,
  deps: Pick<CatalogDeps, 'loadDisplayStreams'>,
  maxApps = MAX_APPS,
): AppList {
  let kept: ListedCatalog | null = null;
  const readers = new LRUCache<string, Reader>({ max: MAX_READERS });
  const bodies = new LRUCache<string, KeptPage>({
    max: MAX_BODIES,
    maxSize: MAX_BODY_BYTES,
    sizeCalculation: ({ body }) => body.maxBytes,
  });
  const loadChanges = changesReader(database, () => kept?.version ?? 0);

  const start = coalesceReads(async () => {
    const version = await loadVersion(database.db);
    const [apps, displayStreams] = await Promise.all([
      listEnabledApps(database.db, maxApps),
      deps.loadDisplayStreams(database.db),
    ]);
    const catalog = new ListedCatalog(version, apps, displayStreams, maxApps);
    // A complete read does not show whose lists have changed, so all cached readers are dropped.
    readers.clear();
    kept = catalog;
    return catalog;
  });

  async function current(): Promise<ListedCatalog> {
    for (let starts = 0; kept !== null && starts < MAX_STARTS; starts++) {
      const catalog: ListedCatalog = kept;
      const changes = await loadChanges();
      if (catalog !== kept) continue;
      if (changes !== null && catalog.advance(changes, (userId) => readers.delete(userId))) return catalog;
      kept = null;
    }
    return start();
  }

  async function readerOf(userId: string, catalog: ListedCatalog): Promise<Reader> {
    const known = readers.get(userId);
    if (known !== undefined) return known;
    const { version } = catalog;
    const [grants, favourites] = await Promise.all([
      loadGrants(database.db, userId),
      loadFavourites(database.db, userId),
    ]);
    const reader = { grants, favourites };
    // Do not cache the reader after a change during the read, because the change may concern this user.
    if (catalog === kept && catalog.version === version) readers.set(userId, reader);
    return reader;
  }

  async function itemsOf(
    userId: string,
    reader: Reader,
    page: OffsetPage,
    catalog: ListedCatalog,
  ): Promise<Buffer[]> {
    if (!catalog.large) return catalog.page(reader, page);
    const rows = await listEntitledApps(database.db, userId, page);
    return rows.map((row) =>
      bytesOf(
        toListItem(row, {
          favourite: reader.favourites.has(row.id),
          displayStream: catalog.displayStreams(row),
        }),
      ),
    );
  }

  return {
    current,
    async body(userId, query, catalogRead = current()) {
      const page = { offset: readOffset(query.cursor), limit: query.limit };
      const catalog = await catalogRead;
      const key = `${userId}/${page.offset}/${page.limit}`;
      const had = bodies.get(key);
      if (had?.catalog === catalog && had.version >= catalog.appsChangedAt) {
        if (had.reader === readers.get(userId)) return had.body;
      }
      const { version } = catalog;
      const reader = await readerOf(userId, catalog);
      const items = await itemsOf(userId, reader, page, catalog);
      const body = new CachedBody(listOf(items.slice(0, page.limit), nextOffset(page, items.length)));
      bodies.set(key, { catalog, version, reader, body });
      return body;
    },
  };
}

/** A finished page with the versions of its sources. The page is valid while these versions are current. */
interface KeptPage {
  readonly catalog: ListedCatalog;
  /** Version of the catalog before the page was read. */
  readonly version: number;
  readonly reader: Reader;
  readonly body: CachedBody;
}

function listOf(items: readonly Buffer[], cursor: string | null): Buffer {
  const last = items.at(-1);
  const withoutComma = last === undefined ? [] : [...items.slice(0, -1), last.subarray(0, -1)];
  const end = Buffer.from(`],"next_cursor":${JSON.stringify(cursor)}}`);
  return Buffer.concat([Buffer.from('{"items":['), ...withoutComma, end]);
}

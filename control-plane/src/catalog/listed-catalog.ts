import type { AppListItem } from '@footlight/protocol/rest';
import type { OffsetPage } from '../platform/offset-cursor.ts';
import type { RecordedChange } from './changes.ts';
import type { DisplayStreams } from './deps.ts';
import { type ListRow, toListItem } from './record.ts';
import type { ListedApp, ListingFacts } from './store.ts';

/** A user's part of the list: entitlements and favourites. */
export interface Reader {
  /** Ids of the apps in the user's own entitlements. */
  readonly grants: ReadonlySet<string>;
  readonly favourites: ReadonlySet<string>;
}

/** A cached app of the lists. */
class CachedApp {
  readonly id: string;
  readonly facts: ListingFacts;
  readonly #item: AppListItem;
  #plain: Buffer | null = null;
  #marked: Buffer | null = null;

  constructor(row: ListRow, facts: ListingFacts, displayStreams: DisplayStreams) {
    this.id = row.id;
    this.facts = facts;
    this.#item = toListItem(row, { favourite: false, displayStream: displayStreams(row) });
  }

  /** JSON of the app's list item, followed by a comma. */
  bytes(favourite: boolean): Buffer {
    if (favourite) {
      this.#marked ??= bytesOf({ ...this.#item, favourite });
      return this.#marked;
    }
    this.#plain ??= bytesOf(this.#item);
    return this.#plain;
  }

  isBefore({ id, facts }: CachedApp): boolean {
    const later = this.facts.createdAtMs - facts.createdAtMs;
    return later > 0 || (later === 0 && this.id > id);
  }
}

/** JSON of a list item, followed by a comma. */
export const bytesOf = (item: AppListItem): Buffer => Buffer.from(`${JSON.stringify(item)},`);

/** The enabled apps at one catalog version; later changes advance it. Pure. */
export class ListedCatalog {
  readonly displayStreams: DisplayStreams;
  /** Whether there are too many apps to cache; then only versions are tracked. */
  readonly large: boolean;
  readonly #maxApps: number;
  readonly #newestFirst: CachedApp[];
  readonly #byId: Map<string, CachedApp>;
  #version: number;
  #appsChangedAt: number;

  /**
   * @param version the version was read before the other values
   * @param apps null: there are more than `maxApps` apps
   */
  constructor(
    version: number,
    apps: readonly ListedApp[] | null,
    displayStreams: DisplayStreams,
    maxApps: number,
  ) {
    this.#version = version;
    this.#appsChangedAt = version;
    this.displayStreams = displayStreams;
    this.large = apps === null;
    this.#maxApps = maxApps;
    this.#newestFirst = (apps ?? [])
      .map(({ row, facts }) => new CachedApp(row, facts, displayStreams))
      .sort((a, b) => (a.isBefore(b) ? -1 : 1));
    this.#byId = new Map(this.#newestFirst.map((app) => [app.id, app]));
  }

  get version(): number {
    return this.#version;
  }

  /** Version of the last change that concerned more than one user's list. */
  get appsChangedAt(): number {
    return this.#appsChangedAt;
  }

  /** Applies changes. Changes up to the current version are skipped. */
  advance(changes: readonly RecordedChange[], onUser: (userId: string) => void): boolean {
    for (const { version, change } of changes) {
      if (version <= this.#version) continue;
      if (change === 'everything' || version !== this.#version + 1) return false;
      this.#version = version;
      if ('userId' in change) {
        onUser(change.userId);
      } else {
        this.#appsChangedAt = version;
        if (!this.large) this.#replace(change.appId, change.found);
      }
    }
    return this.#newestFirst.length <= this.#maxApps;
  }

  /** Puts an app at its current place. */
  #replace(appId: string, found: ListedApp | null): void {
    const former = this.#byId.get(appId);
    if (former !== undefined) this.#newestFirst.splice(this.#newestFirst.indexOf(former), 1);
    this.#byId.delete(appId);
    if (found === null) return;
    const app = new CachedApp(found.row, found.facts, this.displayStreams);
    this.#newestFirst.splice(this.#placeOf(app), 0, app);
    this.#byId.set(appId, app);
  }

  /**
   * Index of an app, found by binary search, because a scan of thousands of apps takes longer than rebuilding a page.
   */
  #placeOf(app: CachedApp): number {
    let from = 0;
    let to = this.#newestFirst.length;
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      if (this.#newestFirst[middle]?.isBefore(app)) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  /** JSON of the page's items, each followed by a comma. One extra item shows that a next page exists. */
  page(reader: Reader, { offset, limit }: OffsetPage): Buffer[] {
    const found: Buffer[] = [];
    let skipped = 0;
    for (const app of this.#newestFirst) {
      if (!app.facts.everybodys && !reader.grants.has(app.id)) continue;
      if (skipped < offset) skipped += 1;
      else found.push(app.bytes(reader.favourites.has(app.id)));
      if (found.length > limit) break;
    }
    return found;
  }
}

import type { AppListItem } from '@footlight/protocol/rest';
import type { NotedChange } from './changes.ts';
import type { DisplayStreams } from './deps.ts';
import { type ListRow, toListItem } from './record.ts';
import type { ListingFacts, Page } from './store.ts';

/** What one user's list has of that user's own. */
export interface Reader {
  /** Apps that the user may launch beyond those of everybody. */
  readonly grants: ReadonlySet<string>;
  readonly favourites: ReadonlySet<string>;
}

/** An app as it stands in lists. */
class ListedApp {
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

  /** JSON of the item, and a comma. */
  bytes(favourite: boolean): Buffer {
    if (favourite) {
      this.#marked ??= bytesOf({ ...this.#item, favourite });
      return this.#marked;
    }
    this.#plain ??= bytesOf(this.#item);
    return this.#plain;
  }

  isBefore({ id, facts }: ListedApp): boolean {
    const later = this.facts.createdAtMs - facts.createdAtMs;
    return later > 0 || (later === 0 && this.id > id);
  }
}

/** JSON of an item, and a comma. */
export const bytesOf = (item: AppListItem): Buffer => Buffer.from(`${JSON.stringify(item)},`);

type FoundApp = { row: ListRow; facts: ListingFacts };

/**
 * The enabled apps as of a version, brought forward by the changes that come after it. It reads nothing itself: an app
 * that changed is outdated until somebody brings what is stored of it.
 */
export class ListedCatalog {
  readonly displayStreams: DisplayStreams;
  /** Whether there are too many apps to keep them; then only versions are followed. */
  readonly large: boolean;
  readonly #maxApps: number;
  readonly #newestFirst: ListedApp[];
  readonly #byId: Map<string, ListedApp>;
  /** Apps that changed since they were read, and with which version. */
  readonly #outdated = new Map<string, number>();
  #version: number;
  #appsChangedAt: number;

  /**
   * @param version read before the rest was
   * @param apps null: more than `maxApps`
   */
  constructor(
    version: number,
    apps: readonly FoundApp[] | null,
    displayStreams: DisplayStreams,
    maxApps: number,
  ) {
    this.#version = version;
    this.#appsChangedAt = version;
    this.displayStreams = displayStreams;
    this.large = apps === null;
    this.#maxApps = maxApps;
    this.#newestFirst = (apps ?? [])
      .map(({ row, facts }) => new ListedApp(row, facts, displayStreams))
      .sort((a, b) => (a.isBefore(b) ? -1 : 1));
    this.#byId = new Map(this.#newestFirst.map((app) => [app.id, app]));
  }

  get version(): number {
    return this.#version;
  }

  /** The version since which only lists of single users have changed. */
  get appsChangedAt(): number {
    return this.#appsChangedAt;
  }

  get outdated(): ReadonlyMap<string, number> {
    return this.#outdated;
  }

  /**
   * Takes changes in; those that it has already are passed over.
   * @param onUser told whose list it is, where it is one user's
   * @returns false when it cannot go on from here and has to be read again
   */
  advance(changes: readonly NotedChange[], onUser: (userId: string) => void): boolean {
    for (const { version, change } of changes) {
      if (version <= this.#version) continue;
      if (change === 'everything' || version !== this.#version + 1) return false;
      this.#version = version;
      if ('userId' in change) {
        onUser(change.userId);
      } else {
        this.#appsChangedAt = version;
        if (!this.large) this.#outdated.set(change.appId, version);
      }
    }
    return this.#newestFirst.length <= this.#maxApps;
  }

  /**
   * Puts an app where it belongs now, unless somebody has brought it since.
   * @param seen the version of the change that it was read after
   * @param found undefined: it is gone, or disabled
   */
  bring(appId: string, seen: number, found: FoundApp | undefined): void {
    const changedAt = this.#outdated.get(appId);
    if (changedAt === undefined) return;
    // One that changed again meanwhile stays outdated.
    if (changedAt === seen) this.#outdated.delete(appId);
    const former = this.#byId.get(appId);
    if (former !== undefined) this.#newestFirst.splice(this.#newestFirst.indexOf(former), 1);
    this.#byId.delete(appId);
    if (found === undefined) return;
    const app = new ListedApp(found.row, found.facts, this.displayStreams);
    this.#newestFirst.splice(this.#placeOf(app), 0, app);
    this.#byId.set(appId, app);
  }

  /** Where an app belongs, by halving: to look at each of thousands takes longer than to make a page again. */
  #placeOf(app: ListedApp): number {
    let from = 0;
    let to = this.#newestFirst.length;
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      if (this.#newestFirst[middle]?.isBefore(app)) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  /** JSON of the page's items, each with a comma, and of one more where there is a next page. */
  page(reader: Reader, { offset, limit }: Page): Buffer[] {
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

import { type Fetcher, FetchRefused } from '../../platform/outgoing/guarded-fetch.ts';
import type { ArtworkApp } from '../store.ts';
import { type FetchedPicture, fetchPicture } from './fetch-picture.ts';
import { decideLookup } from './lookup.ts';
import { type Provider, ProviderUnavailable, type RemotePicture, type Title } from './steamgriddb.ts';
import { isSameTitle } from './titles.ts';

/** Maximum pictures of a title that are tried. If all of them fail, the title counts as having no picture. */
const MAX_TRIED = 3;

/** A title with its fetched pictures; at least one. */
export interface FoundArt {
  title: Title;
  tile: FetchedPicture | null;
  hero: FetchedPicture | null;
}

/** Finds and fetches the provider's pictures of an app. Stores nothing. */
export interface Matcher {
  /** null: no match. @throws ProviderUnavailable */
  match(provider: Provider, app: ArtworkApp): Promise<FoundArt | null>;
  /** null: no pictures of this title. @throws ProviderUnavailable */
  fetchArt(provider: Provider, title: Title): Promise<FoundArt | null>;
}

export function createMatcher(deps: { fetcher: Fetcher; maxBytes: number }): Matcher {
  const { fetcher, maxBytes } = deps;

  async function findTitle(provider: Provider, app: ArtworkApp): Promise<Title | null> {
    const lookup = decideLookup(app);
    if (lookup.by === 'nothing') return null;
    if (lookup.by === 'steam') return provider.findBySteamId(lookup.steamId);
    const titles = await provider.search(lookup.name);
    return titles.find((title) => isSameTitle(title.name, lookup.name)) ?? null;
  }

  /** The first picture that can be fetched; null: none could be. */
  async function fetchFirst(offered: readonly RemotePicture[]): Promise<FetchedPicture | null> {
    for (const { url } of offered.slice(0, MAX_TRIED)) {
      try {
        return await fetchPicture(fetcher, url, maxBytes);
      } catch (error) {
        if (!(error instanceof FetchRefused)) throw error;
      }
    }
    if (offered.length === 0) return null;
    throw new ProviderUnavailable('The pictures that SteamGridDB names cannot be fetched.');
  }

  async function fetchArt(provider: Provider, title: Title): Promise<FoundArt | null> {
    const tile = await fetchFirst(await provider.listTiles(title.ref));
    const hero = await fetchFirst(await provider.listHeroes(title.ref));
    return tile === null && hero === null ? null : { title, tile, hero };
  }

  return {
    fetchArt,
    async match(provider, app) {
      const title = await findTitle(provider, app);
      return title && fetchArt(provider, title);
    },
  };
}

import { type Clock, pause, SECOND_MS } from '@footlight/platform';
import { cutUtf8, stripControls } from '@footlight/protocol';
import pLimit from 'p-limit';
import { z } from 'zod';
import {
  type Fetcher,
  type FetchPolicy,
  FetchRefused,
  PUBLIC_INTERNET,
} from '../../platform/outgoing/guarded-fetch.ts';

/** Pause between two calls. The provider asks its users for this pause. */
const BETWEEN_CALLS_MS = 500;
const CALL_DEADLINE_MS = 10 * SECOND_MS;
/** Maximum bytes of an answer. The value is chosen, not measured, and larger than any answer needs. */
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_NAME_BYTES = 512;

const GRID_SIZES = '600x900,660x930,342x482';
const HERO_SIZES = '1920x620,3840x1240,1600x650';
/** Filters: only still pictures, without adult content and without humor. */
const DECENT = 'types=static&nsfw=false&humor=false&mimes=image/png,image/jpeg,image/webp';

export const PROVIDER_NAME = 'steamgriddb';
export const ATTRIBUTION = 'Artwork via SteamGridDB';

/**
 * Policy for requests to the provider and for pictures. No environment variable can loosen it; tests pass their own
 * policy.
 */
export interface ArtworkPolicy extends FetchPolicy {
  /** URL of the provider's API, without a trailing slash. */
  providerUrl: string;
}

export const PUBLIC_PROVIDER: ArtworkPolicy = {
  ...PUBLIC_INTERNET,
  providerUrl: 'https://www.steamgriddb.com/api/v2',
};

/** The provider failed. The message is for administrators and never contains a key. */
export class ProviderUnavailable extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ProviderUnavailable';
  }
}

/** A title of the provider. */
export interface Title {
  ref: string;
  name: string;
}

/** A picture of the provider: full size and thumbnail. */
export interface RemotePicture {
  url: string;
  thumb: string;
}

/** The provider's API, used with one key. Every method throws ProviderUnavailable. */
export interface Provider {
  /** Best match first. */
  search(term: string): Promise<Title[]>;
  /** null: unknown title. */
  findBySteamId(steamId: string): Promise<Title | null>;
  /** null: unknown id. */
  findByRef(ref: string): Promise<Title | null>;
  /** Portrait pictures of a title, best first. */
  listTiles(ref: string): Promise<RemotePicture[]>;
  /** Wide pictures of a title, best first. */
  listHeroes(ref: string): Promise<RemotePicture[]>;
}

const title = z
  .object({ id: z.int().positive(), name: z.string() })
  .transform(
    ({ id, name }): Title => ({ ref: String(id), name: cutUtf8(stripControls(name), MAX_NAME_BYTES) }),
  );
const pictures = z.array(z.object({ url: z.string().max(2048), thumb: z.string().max(2048) }));

/** Whether a text has the form of a provider id; the id becomes part of a URL. */
const isRef = (ref: string): boolean => /^[1-9][0-9]{0,15}$/.test(ref);

/**
 * The HTTP API of SteamGridDB, version 2. Calls from all callers run one after another, with a pause between them.
 * @returns a factory of providers by key
 */
export function createSteamGridDb(deps: {
  clock: Clock;
  fetcher: Fetcher;
  /** Base URL of the API. */
  url: string;
  stopping: AbortSignal;
}): (key: string) => Provider {
  const { clock, fetcher, stopping } = deps;
  const lane = pLimit(1);
  let lastEndMs = Number.NEGATIVE_INFINITY;

  function paced<T>(work: () => Promise<T>): Promise<T> {
    return lane(async () => {
      const waitMs = lastEndMs + BETWEEN_CALLS_MS - clock.monotonicMs();
      if (waitMs > 0) await pause(clock, waitMs, stopping);
      if (stopping.aborted) throw new ProviderUnavailable('The service is stopping.');
      try {
        return await work();
      } finally {
        lastEndMs = clock.monotonicMs();
      }
    });
  }

  /** @returns null for 404 */
  async function get<T>(key: string, path: string, schema: z.ZodType<T>): Promise<T | null> {
    const { status, bytes } = await fetcher.get(`${deps.url}${path}`, {
      headers: { authorization: `Bearer ${key}` },
      maxBytes: MAX_ANSWER_BYTES,
      deadlineMs: CALL_DEADLINE_MS,
      // The key must be sent only to the provider, so redirects are not followed.
      maxRedirects: 0,
    });
    if (status === 404) return null;
    if (status === 401 || status === 403) throw new ProviderUnavailable('SteamGridDB refused the API key.');
    if (status !== 200) throw new ProviderUnavailable(`SteamGridDB answered ${status}.`);
    const answer = parse(bytes, z.object({ success: z.literal(true), data: schema }));
    // Reject an answer that contains the key, because it would copy the key into records, answers and logs. The parsed
    // values are checked too, because JSON can escape the same text differently.
    if (answer === undefined || bytes.includes(key) || repeats(answer.data, key)) {
      throw new ProviderUnavailable('SteamGridDB answered something that makes no sense.');
    }
    return answer.data;
  }

  return (key) => {
    async function call<T>(path: string, schema: z.ZodType<T>): Promise<T | null> {
      try {
        return await paced(() => get(key, path, schema));
      } catch (error) {
        if (error instanceof FetchRefused) throw new ProviderUnavailable('SteamGridDB did not answer.');
        throw error;
      }
    }
    const list = async (path: string) => (await call(path, pictures)) ?? [];
    return {
      async search(term) {
        const wellFormed = Buffer.from(term.trim()).toString();
        // A search term that consists of dots would change the path of the URL.
        if (/^\.*$/.test(wellFormed)) return [];
        return (await call(`/search/autocomplete/${encodeURIComponent(wellFormed)}`, z.array(title))) ?? [];
      },
      findBySteamId: (steamId) => call(`/games/steam/${encodeURIComponent(steamId)}`, title),
      findByRef: async (ref) => (isRef(ref) ? call(`/games/id/${ref}`, title) : null),
      listTiles: (ref) => list(`/grids/game/${encodeURIComponent(ref)}?dimensions=${GRID_SIZES}&${DECENT}`),
      listHeroes: (ref) => list(`/heroes/game/${encodeURIComponent(ref)}?dimensions=${HERO_SIZES}&${DECENT}`),
    };
  };
}

/** Whether a text within the value contains the key. */
const repeats = (value: unknown, key: string): boolean =>
  JSON.stringify(value).includes(JSON.stringify(key).slice(1, -1));

/** undefined: the bytes are not JSON, or do not match the schema. */
function parse<T>(bytes: Buffer, schema: z.ZodType<T>): T | undefined {
  try {
    return schema.safeParse(JSON.parse(bytes.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}

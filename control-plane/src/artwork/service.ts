import { HOUR_MS, SECOND_MS } from '@footlight/platform';
import type { ArtworkCandidate, ArtworkCrop, ArtworkEnvelope, Body, Success } from '@footlight/protocol/rest';
import pLimit from 'p-limit';
import { ApiError, invalid, noSuch } from '../platform/errors.ts';
import type { Upload } from '../platform/http/message/body.ts';
import type { Caller } from '../platform/http/message/contract.ts';
import { createFetcher, FetchRefused } from '../platform/outgoing/guarded-fetch.ts';
import type { Platform } from '../platform/platform.ts';
import type { Secrets } from '../settings/index.ts';
import { agrees, sniffPicture } from './asset.ts';
import { createBlobStore } from './blobs.ts';
import { createDecoder, MAX_PIXELS } from './decoder.ts';
import { createAvailability, requireProvider } from './fetch/availability.ts';
import { type FetchedPicture, fetchPicture } from './fetch/fetch-picture.ts';
import { createMatcher, type FoundArt } from './fetch/matching.ts';
import { createResolver } from './fetch/resolver.ts';
import {
  type ArtworkPolicy,
  createSteamGridDb,
  ProviderUnavailable,
  PUBLIC_PROVIDER,
  type RemotePicture,
} from './fetch/steamgriddb.ts';
import { matchedRecord, ownRecord, pickedRecord, type RecordRow, toArtworkRecord } from './record.ts';
import { createRecorder } from './recorder.ts';
import { createServing, type Serving } from './serving.ts';
import { createSizes } from './sizes.ts';
import * as store from './store.ts';
import { registerSweeps } from './sweeps.ts';

/** Maximum titles of a search. Each title costs one provider call for its thumbnail. */
const MAX_CANDIDATES = 8;
const THUMB_WIDTH = 160;
/** WebP quality (1 to 100). Chosen, not measured: a thumbnail is shown only in one search result. */
const THUMB_QUALITY = 60;
const MAX_THUMB_SOURCE_BYTES = 1024 * 1024;
/** Longest data URL (characters). */
const MAX_THUMB_CHARACTERS = 32 * 1024;
const THUMB_DEADLINE_MS = 10 * SECOND_MS;
/** Half of the candidates: a search fetches them in two rounds and decodes at most four pictures at the same time. */
const THUMBS_AT_ONCE = 4;

/** Tests replace the provider and its network policy with these fields. */
export interface ArtworkDeps {
  secrets: Secrets;
  policy?: ArtworkPolicy;
  /** A key that needs no stored secret; the API reports its origin as `static`. */
  providerKey?: string;
}

type SetBody = Body<'artwork.set'>;

/** Artwork of apps. Every method except `close` throws 503 while the folder is unusable. */
export interface Artwork {
  readonly serving: Serving;
  /** @throws ApiError 503 */
  ensureUsable(): Promise<void>;
  /** @throws ApiError not_found */
  read(appId: string): Promise<ArtworkEnvelope>;
  /** @throws ApiError not_found, conflict, validation_failed, provider_unavailable */
  set(actor: Caller, appId: string, body: SetBody): Promise<ArtworkEnvelope>;
  /** Idempotent. @throws ApiError not_found */
  clear(actor: Caller, appId: string): Promise<void>;
  /** @throws ApiError not_found, conflict, provider_unavailable */
  search(appId: string, query: string | undefined): Promise<Success<'artwork.search'>>;
  /** @throws ApiError validation_failed, not_found */
  upload(actor: Caller, appId: string, crop: ArtworkCrop, upload: Upload): Promise<ArtworkEnvelope>;
  /** @throws ApiError conflict */
  reresolve(actor: Caller, force: boolean): Promise<Success<'artwork.reresolve'>>;
  /** Sweeps orphans once. Never rejects. */
  start(): Promise<void>;
  /** Aborts running and waiting provider calls. */
  close(): void;
}

export function createArtwork(platform: Platform, deps: ArtworkDeps): Artwork {
  const { activity, clock, config, database, logger, random } = platform;
  const { maxBytes } = config.artwork;
  const policy = deps.policy ?? PUBLIC_PROVIDER;
  const stopping = new AbortController();
  const blobs = createBlobStore(config.artwork.dir, {
    ...{ random, logger },
    ...(config.bus !== null && { keepYoung: { forMs: HOUR_MS, clock } }),
  });
  const decoder = createDecoder();
  const fetcher = createFetcher({ clock, policy, stopping: stopping.signal });
  const availability = createAvailability({
    choice: config.artwork.provider,
    secrets: deps.secrets,
    connect: createSteamGridDb({ clock, fetcher, url: policy.providerUrl, stopping: stopping.signal }),
    staticKey: deps.providerKey ?? null,
  });
  const matcher = createMatcher({ fetcher, maxBytes });
  const recorder = createRecorder(platform, blobs);
  const resolver = createResolver(platform, { matcher, recorder });
  const thumbs = pLimit(THUMBS_AT_ONCE);
  registerSweeps(platform, { availability, blobs, resolver, stopping: stopping.signal });

  async function requireApp(appId: string): Promise<store.ArtworkApp> {
    const app = await store.findApp(database.db, appId);
    if (!app) throw noSuch('app', appId);
    return app;
  }

  async function envelope(row: RecordRow | null): Promise<ArtworkEnvelope> {
    const { facts } = await availability();
    return { artwork: row && toArtworkRecord(row), ...facts };
  }

  async function fetchNamed(field: 'tile_url' | 'hero_url', body: SetBody): Promise<FetchedPicture | null> {
    const address = body[field]?.trim() ?? '';
    if (address === '') return null;
    try {
      const picture = await fetchPicture(fetcher, address, maxBytes);
      if (await decoder.isTooLarge(picture.bytes)) {
        throw new FetchRefused(`it has more than the ${MAX_PIXELS} pixels that are taken`);
      }
      return picture;
    } catch (error) {
      if (error instanceof FetchRefused)
        throw invalid(`${field}: the picture cannot be fetched: ${error.message}`);
      throw error;
    }
  }

  async function rematch(app: store.ArtworkApp, force: boolean): Promise<RecordRow | null> {
    const provider = requireProvider(await availability());
    const refuseLocked = (former: RecordRow | null) => {
      if (former?.locked === 1 && !force) {
        throw new ApiError('conflict', {
          message: 'An administrator chose these pictures; send force to match them again all the same.',
        });
      }
    };
    refuseLocked(await store.findRecord(database.db, app.id));
    const found = await refusingProvider(matcher.match(provider, app));
    return recorder.write(app.id, picturesOf(found), (former, pictures) => {
      refuseLocked(former);
      return matchedRecord(found && { title: found.title, pictures });
    });
  }

  async function pick(app: store.ArtworkApp, ref: string): Promise<RecordRow | null> {
    const provider = requireProvider(await availability());
    const title = await refusingProvider(provider.findByRef(ref));
    const found = title && (await refusingProvider(matcher.fetchArt(provider, title)));
    if (!found) throw invalid('provider_ref: the provider has no pictures of such a title');
    return recorder.write(app.id, picturesOf(found), (_former, pictures) =>
      pickedRecord(found.title, pictures),
    );
  }

  async function fetchOwn(app: store.ArtworkApp, body: SetBody): Promise<RecordRow | null> {
    const [tile, hero] = await Promise.all([fetchNamed('tile_url', body), fetchNamed('hero_url', body)]);
    return recorder.write(app.id, { tile, hero }, ownRecord);
  }

  /** null: the thumbnail could not be fetched, or is too large. */
  async function thumbData(thumb: string): Promise<string | null> {
    const { bytes } = await fetchPicture(fetcher, thumb, MAX_THUMB_SOURCE_BYTES, THUMB_DEADLINE_MS);
    const small = await decoder.toWebp(bytes, THUMB_WIDTH, THUMB_QUALITY);
    const data = small && `data:image/webp;base64,${small.toString('base64')}`;
    return data !== null && data.length <= MAX_THUMB_CHARACTERS ? data : null;
  }

  /** Never rejects: a candidate without a thumbnail is still listed. */
  const thumbDataOrNull = (picture: RemotePicture | undefined): Promise<string | null> =>
    picture === undefined ? Promise.resolve(null) : thumbs(thumbData, picture.thumb).catch(() => null);

  return {
    serving: createServing(blobs, createSizes(blobs, decoder)),
    ensureUsable: blobs.ensureUsable,

    async read(appId) {
      await requireApp(appId);
      return envelope(await store.findRecord(database.db, appId));
    },

    async set(actor, appId, body) {
      const app = await requireApp(appId);
      const ref = body.provider_ref?.trim() ?? '';
      const row = await (body.rematch === true
        ? rematch(app, body.force === true)
        : ref !== ''
          ? pick(app, ref)
          : fetchOwn(app, body));
      await activity.record(actor.userId, 'app.artwork.set', appId);
      return envelope(row);
    },

    async clear(actor, appId) {
      await recorder.clear(appId);
      await activity.record(actor.userId, 'app.artwork.cleared', appId);
    },

    async search(appId, query) {
      const app = await requireApp(appId);
      const { facts, provider: found } = await availability();
      const provider = requireProvider({ facts, provider: found });
      const searched = query?.trim() ?? '';
      const candidates = await refusingProvider(
        (async () => {
          const titles = await provider.search(searched === '' ? app.name : searched);
          const withThumbs = [];
          for (const { ref, name } of titles.slice(0, MAX_CANDIDATES)) {
            const picture = (await provider.listTiles(ref))[0];
            // The thumbnail is fetched while the next title is requested. The pauses between provider calls do not
            // apply to thumbnails.
            withThumbs.push({ ref, name, picture, data: thumbDataOrNull(picture) });
          }
          return Promise.all(
            withThumbs.map(
              async ({ ref, name, picture, data }): Promise<ArtworkCandidate> => ({
                ref,
                name,
                thumb_url: picture?.thumb ?? null,
                thumb_data: await data,
              }),
            ),
          );
        })(),
      );
      const { provider_configured, provider_name, provider_origin } = facts;
      return { candidates, provider_configured, provider_name, provider_origin };
    },

    async upload(actor, appId, crop, { bytes, mediaType }) {
      const sniffed = await sniffPicture(bytes);
      if (sniffed === null) throw invalid('The body is no JPEG, PNG or WebP.');
      if (!agrees(mediaType, sniffed)) {
        throw invalid(`Content-Type: the body is ${sniffed.type}, and something else is declared`);
      }
      if (await decoder.isTooLarge(bytes)) {
        throw invalid(`The picture has more than the ${MAX_PIXELS} pixels that are taken.`);
      }
      await requireApp(appId);
      const row = await recorder.write(appId, { [crop]: { bytes, sniffed } }, ownRecord);
      await activity.record(actor.userId, 'app.artwork.upload', appId, { crop });
      return envelope(row);
    },

    async reresolve(actor, force) {
      const provider = requireProvider(await availability());
      const { total, resolved, skipped_locked, failed } = await resolver.reresolve(provider, force);
      await activity.record(actor.userId, 'app.artwork.reresolve', null, {
        force,
        total,
        count: resolved,
        skipped_locked,
        failed,
      });
      return { total, resolved, skipped_locked, failed };
    },

    start: () => platform.jobs.runNow('artwork.prune_orphans'),

    close() {
      stopping.abort(new FetchRefused('the service is stopping'));
    },
  };
}

const picturesOf = (found: FoundArt | null) => ({ tile: found?.tile ?? null, hero: found?.hero ?? null });

/** @throws ApiError provider_unavailable instead of ProviderUnavailable */
async function refusingProvider<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ProviderUnavailable) {
      throw new ApiError('provider_unavailable', { message: error.message });
    }
    throw error;
  }
}

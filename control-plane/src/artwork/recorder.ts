import { noteCatalogChange } from '../catalog/index.ts';
import type { Tx } from '../platform/database/index.ts';
import { ApiError } from '../platform/errors.ts';
import type { Platform } from '../platform/platform.ts';
import type { Asset } from './asset.ts';
import type { BlobStore, PinnedBlob } from './blobs.ts';
import type { FetchedPicture } from './fetch/fetch-picture.ts';
import { coverUnder, type Pictures, type RecordFields, type RecordRow } from './record.ts';
import * as store from './store.ts';

/** Pictures on their way into a record. */
export interface NewPictures {
  tile?: FetchedPicture | null;
  hero?: FetchedPicture | null;
}

/** The one place where records are written: blobs first, then record and app in one transaction. */
export interface Recorder {
  /**
   * @param decide runs in the transaction, under the lock of the app: what the record shall be, given the former one
   * and the assets of the new pictures; null leaves all as it is. May throw a refusal.
   * @param first first step of the transaction
   * @returns the record; null where `decide` gave none
   * @throws ApiError not_found when the app is gone
   */
  write(
    appId: string,
    pictures: NewPictures,
    decide: (former: RecordRow | null, assets: Pictures) => RecordFields | null,
    first?: (tx: Tx) => Promise<void>,
  ): Promise<RecordRow | null>;
  /** Takes the record and the pictures from the app; its blobs stay until they are swept. @throws ApiError not_found */
  clear(appId: string): Promise<void>;
}

export function createRecorder(platform: Platform, blobs: BlobStore): Recorder {
  const { database, clock } = platform;

  async function lockApp(tx: Tx, appId: string): Promise<store.ArtworkApp> {
    const app = await store.lockApp(database, tx, appId);
    if (!app) throw new ApiError('not_found');
    return app;
  }

  return {
    async write(appId, pictures, decide, first) {
      // Held until the commit, or the sweep might take what no record names yet.
      const pinned: PinnedBlob[] = [];
      const keep = async (picture: FetchedPicture | null | undefined): Promise<Asset | undefined> => {
        if (!picture) return undefined;
        const blob = await blobs.put(picture.bytes, picture.sniffed);
        pinned.push(blob);
        return blob.asset;
      };
      try {
        const assets = { tile: await keep(pictures.tile), hero: await keep(pictures.hero) };
        return await database.transaction(async (tx) => {
          await first?.(tx);
          const app = await lockApp(tx, appId);
          const fields = decide(await store.findRecord(tx, appId), assets);
          if (fields === null) return null;
          const row = { app_id: appId, ...fields, updated_at: clock.nowMs() };
          await store.putRecord(tx, row);
          await store.setAppPictures(tx, appId, {
            cover_url: coverUnder(fields, app.cover_url),
            hero_url: fields.hero_url,
            updated_at: row.updated_at,
          });
          await noteCatalogChange(tx, { appId });
          return row;
        });
      } finally {
        for (const blob of pinned) blob.release();
      }
    },

    async clear(appId) {
      await database.transaction(async (tx) => {
        await lockApp(tx, appId);
        await store.deleteRecord(tx, appId);
        await store.setAppPictures(tx, appId, { cover_url: null, hero_url: null, updated_at: clock.nowMs() });
        await noteCatalogChange(tx, { appId });
      });
    },
  };
}

import { recordCatalogChange, setAppPictures } from '../catalog/index.ts';
import type { Tx } from '../platform/database/index.ts';
import { noSuch } from '../platform/errors.ts';
import type { Platform } from '../platform/platform.ts';
import type { Asset } from './asset.ts';
import type { BlobStore, PinnedBlob } from './blobs.ts';
import type { FetchedPicture } from './fetch/fetch-picture.ts';
import { coverUnder, type Pictures, type RecordFields, type RecordRow } from './record.ts';
import * as store from './store.ts';

/** New pictures of a record. */
export interface NewPictures {
  tile?: FetchedPicture | null;
  hero?: FetchedPicture | null;
}

/** The only writer of records. It writes the blobs first, then the record and the app in one transaction. */
export interface Recorder {
  /**
   * @param decide runs in the transaction with the app locked: it returns the new record from the former record and the
   *   assets of the new pictures. null changes nothing. It may throw a refusal.
   * @param first first step of the transaction
   * @returns the record; null if `decide` returned null
   * @throws ApiError not_found when the app was deleted
   */
  write(
    appId: string,
    pictures: NewPictures,
    decide: (former: RecordRow | null, assets: Pictures) => RecordFields | null,
    first?: (tx: Tx) => Promise<void>,
  ): Promise<RecordRow | null>;
  /** Removes the record and the pictures from the app. A later sweep removes the blobs. @throws ApiError not_found */
  clear(appId: string): Promise<void>;
}

export function createRecorder(platform: Platform, blobs: BlobStore): Recorder {
  const { database, clock } = platform;

  async function lockApp(tx: Tx, appId: string): Promise<store.ArtworkApp> {
    const app = await store.lockApp(tx, appId);
    if (!app) throw noSuch('app', appId);
    return app;
  }

  return {
    async write(appId, pictures, decide, first) {
      // Pinned until the commit; otherwise the sweep could remove the new blobs, which no record refers to yet.
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
          await setAppPictures(tx, appId, {
            cover_url: coverUnder(fields, app.cover_url),
            hero_url: fields.hero_url,
            updated_at: row.updated_at,
          });
          await recordCatalogChange(tx, { appId });
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
        await setAppPictures(tx, appId, { cover_url: null, hero_url: null, updated_at: clock.nowMs() });
        await recordCatalogChange(tx, { appId });
      });
    },
  };
}

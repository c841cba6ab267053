import type { ArtworkWidth } from '@footlight/protocol/rest';
import pLimit from 'p-limit';
import { unavailable } from '../platform/errors.ts';
import type { Asset } from './asset.ts';
import type { BlobStore, OpenedBlob } from './blobs.ts';
import type { Decoder } from './decoder.ts';

const QUALITY = 80;
/** Maximum sizes that are made at the same time; each keeps its whole picture in memory. */
const MAX_AT_ONCE = 2;
/** Maximum waiting sizes, a few bytes each. Enough when people see 300 new apps in every width. */
const MAX_WAITING = 1_000;

/** Stored sizes of assets. Each size is made once, when it is first requested. */
export interface Sizes {
  /**
   * @returns null when the picture cannot be decoded or is missing; the caller then serves the original
   * @throws ApiError 503 when too many sizes wait
   */
  open(asset: Asset, width: ArtworkWidth): Promise<OpenedBlob | null>;
}

export function createSizes(blobs: BlobStore, decoder: Decoder): Sizes {
  const limit = pLimit(MAX_AT_ONCE);
  /** Sizes in progress, by asset and width. Concurrent requests for one size are coalesced. */
  const underWay = new Map<string, Promise<void>>();

  async function make(asset: Asset, width: ArtworkWidth): Promise<void> {
    const bytes = await blobs.read(asset);
    if (bytes === null) return;
    await blobs.putSize(asset, width, await decoder.toWebp(bytes, width, QUALITY));
  }

  function makeOnce(asset: Asset, width: ArtworkWidth): Promise<void> {
    const key = `${asset}.${width}`;
    const found = underWay.get(key);
    if (found) return found;
    if (limit.pendingCount >= MAX_WAITING) {
      throw unavailable('Too many pictures are being made; try again in a moment.');
    }
    const job = limit(make, asset, width).finally(() => underWay.delete(key));
    underWay.set(key, job);
    return job;
  }

  return {
    async open(asset, width) {
      let size = await blobs.openSize(asset, width);
      if (size === null) {
        await makeOnce(asset, width);
        size = await blobs.openSize(asset, width);
      }
      if (size !== null && size.sizeBytes === 0) {
        await size.file.close();
        return null;
      }
      return size;
    },
  };
}

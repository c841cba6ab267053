import type { Readable } from 'node:stream';
import type { ArtworkWidth } from '@footlight/protocol/rest';
import { noSuch } from '../platform/errors.ts';
import { matchesEtag } from '../platform/http/message/etag.ts';
import { isAsset, typeOfAsset } from './asset.ts';
import type { BlobStore } from './blobs.ts';
import type { Sizes } from './sizes.ts';

/** An asset to send. bytes null: the client's copy is still valid (304). */
export interface ServedAsset {
  bytes: Readable | null;
  headers: Record<string, string>;
}

/** Serves stored pictures without authentication. */
export interface Serving {
  /**
   * @param width missing: the original bytes
   * @param ifNoneMatch value of the header If-None-Match
   * @throws ApiError not_found for a malformed or unknown name, 503 while too many sizes wait
   */
  serve(
    asset: string,
    width: ArtworkWidth | undefined,
    ifNoneMatch: string | undefined,
  ): Promise<ServedAsset>;
}

/**
 * The name is the hash of the bytes, so an answer never expires. The bytes are untrusted. With these headers a browser
 * that opens them as a page runs no script and loads nothing, and does not guess another type.
 */
const HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
};

export function createServing(blobs: BlobStore, sizes: Sizes): Serving {
  return {
    async serve(asset, width, ifNoneMatch) {
      if (!isAsset(asset) || !(await blobs.has(asset))) throw noSuch('picture', asset);
      const etag = `"${asset}${width === undefined ? '' : `-${width}`}"`;
      const headers = { ...HEADERS, etag };
      if (matchesEtag(ifNoneMatch, etag)) return { bytes: null, headers };
      const size = width === undefined ? null : await sizes.open(asset, width);
      // The original is opened last, so that a request that waits for a size keeps no file descriptor open.
      const found = size ?? (await blobs.open(asset));
      if (found === null) throw noSuch('picture', asset);
      return {
        bytes: found.file.createReadStream(),
        headers: {
          ...headers,
          'content-type': size === null ? typeOfAsset(asset) : 'image/webp',
          'content-length': String(found.sizeBytes),
        },
      };
    },
  };
}

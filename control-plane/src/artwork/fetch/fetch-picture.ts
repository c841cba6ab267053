import { type Fetcher, FetchRefused } from '../../platform/outgoing/guarded-fetch.ts';
import { agrees, type Sniffed, sniffPicture } from '../asset.ts';

export interface FetchedPicture {
  bytes: Buffer;
  sniffed: Sniffed;
}

/**
 * Fetches a picture.
 * @throws FetchRefused when the picture cannot be fetched, is not a JPEG, PNG or WebP, or does not have the declared
 *   type
 */
export async function fetchPicture(
  fetcher: Fetcher,
  address: string,
  maxBytes: number,
  deadlineMs?: number,
): Promise<FetchedPicture> {
  const { status, mediaType, bytes } = await fetcher.get(address, {
    maxBytes,
    ...(deadlineMs !== undefined && { deadlineMs }),
  });
  if (status !== 200) throw new FetchRefused(`its server answered ${status}`);
  const sniffed = await sniffPicture(bytes);
  if (sniffed === null) throw new FetchRefused('it is no JPEG, PNG or WebP');
  if (!agrees(mediaType, sniffed)) throw new FetchRefused('its server says that it is of another type');
  return { bytes, sniffed };
}

import { fileTypeFromBuffer } from 'file-type';

/** Media types of accepted pictures, by the extension of the asset's name. */
const MEDIA_TYPES = { jpg: 'image/jpeg', png: 'image/png', webp: 'image/webp' } as const;
type Extension = keyof typeof MEDIA_TYPES;
export type PictureType = (typeof MEDIA_TYPES)[Extension];

const ASSET_NAME = /^[0-9a-f]{64}\.(jpg|png|webp)$/;
const ASSET_PATH = '/v1/artwork/';

/** Name of a stored picture: SHA-256 of its bytes in hex, a dot, and the extension of the sniffed type. */
export type Asset = string;

export const isAsset = (name: string): boolean => ASSET_NAME.test(name);

/** URL path of an asset. */
export const pathOfAsset = (asset: Asset): string => ASSET_PATH + asset;

/** The asset of a URL path; null for other texts. */
export function assetOfPath(path: string | null): Asset | null {
  const name = path?.startsWith(ASSET_PATH) ? path.slice(ASSET_PATH.length) : '';
  return isAsset(name) ? name : null;
}

/** Media type of an asset, from its name. */
export const typeOfAsset = (asset: Asset): PictureType => MEDIA_TYPES[asset.slice(65) as Extension];

export interface Sniffed {
  extension: Extension;
  type: PictureType;
}

/**
 * Detects the picture type from the signature in the bytes. The Content-Type header and the file name are ignored, and
 * no decoder runs here.
 * @returns null for types other than JPEG, PNG and WebP, and for an animated PNG
 */
export async function sniffPicture(bytes: Uint8Array): Promise<Sniffed | null> {
  // The parser throws on a file with wrong inner lengths; such a file is not a picture.
  const found = await fileTypeFromBuffer(bytes).catch(() => undefined);
  const extension = Object.entries(MEDIA_TYPES).find(([, type]) => type === found?.mime)?.[0];
  return extension === undefined
    ? null
    : { extension: extension as Extension, type: MEDIA_TYPES[extension as Extension] };
}

/** Whether a declared media type matches the bytes. `image/jpg` is a common name of image/jpeg. */
export function agrees(declared: string, sniffed: Sniffed): boolean {
  return declared === sniffed.type || (declared === 'image/jpg' && sniffed.type === 'image/jpeg');
}

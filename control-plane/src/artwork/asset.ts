import { fileTypeFromBuffer } from 'file-type';

/** Kinds of picture that are taken, by the extension of their asset. */
const MEDIA_TYPES = { jpg: 'image/jpeg', png: 'image/png', webp: 'image/webp' } as const;
type Extension = keyof typeof MEDIA_TYPES;
export type PictureType = (typeof MEDIA_TYPES)[Extension];

const ASSET_NAME = /^[0-9a-f]{64}\.(jpg|png|webp)$/;
const ASSET_PATH = '/v1/artwork/';

/** Name of a stored picture: SHA-256 of its bytes in hex, a dot, and the extension of what they are. */
export type Asset = string;

export const isAsset = (name: string): boolean => ASSET_NAME.test(name);

/** Where browsers find the asset. */
export const pathOfAsset = (asset: Asset): string => ASSET_PATH + asset;

/** The asset that a path names; null for any other address. */
export function assetOfPath(path: string | null): Asset | null {
  const name = path?.startsWith(ASSET_PATH) ? path.slice(ASSET_PATH.length) : '';
  return isAsset(name) ? name : null;
}

/** Media type of an asset, by its name. */
export const typeOfAsset = (asset: Asset): PictureType => MEDIA_TYPES[asset.slice(65) as Extension];

export interface Sniffed {
  extension: Extension;
  type: PictureType;
}

/**
 * What the bytes are, by their own signature; no header and no name has a say. No decoder runs here.
 * @returns null for anything but a JPEG, a PNG or a WebP; an animated PNG is none
 */
export async function sniffPicture(bytes: Uint8Array): Promise<Sniffed | null> {
  // A file that lies about its inner lengths makes the parser stop; it is none then.
  const found = await fileTypeFromBuffer(bytes).catch(() => undefined);
  const extension = Object.entries(MEDIA_TYPES).find(([, type]) => type === found?.mime)?.[0];
  return extension === undefined
    ? null
    : { extension: extension as Extension, type: MEDIA_TYPES[extension as Extension] };
}

/** Whether a declared media type says the same as the bytes. `image/jpg` is what many call a JPEG. */
export function agrees(declared: string, sniffed: Sniffed): boolean {
  return declared === sniffed.type || (declared === 'image/jpg' && sniffed.type === 'image/jpeg');
}

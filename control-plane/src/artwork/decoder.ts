import pLimit from 'p-limit';
import type Sharp from 'sharp';

/** An 8K picture and a little more. What claims to be larger is not decoded: a few bytes may claim anything. */
export const MAX_PIXELS = 8192 * 4608;
/** A picture thinner than this would grow past what WebP holds. */
const MAX_HEIGHT_PER_WIDTH = 4;
/** For one picture. Honest ones take a tenth of a second. */
const TIMEOUT_SECS = 10;
/** Pictures at a time. Decoding shares its threads with password hashing and name look-ups, which need some. */
const MAX_AT_ONCE = 2;

/** Only these run on bytes of strangers, and only from memory. */
const LOADERS = ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer'];

let library: Promise<typeof Sharp> | null = null;

/** Loaded when the first picture is needed: it is 20 MB of native code that many starts do without. */
function loadSharp(): Promise<typeof Sharp> {
  library ??= import('sharp').then(({ default: sharp }) => {
    sharp.block({ operation: ['VipsForeignLoad'] });
    sharp.unblock({ operation: LOADERS });
    sharp.cache(false);
    sharp.concurrency(1);
    return sharp;
  });
  return library;
}

/** Makes small pictures of sniffed ones. */
export interface Decoder {
  /** Whether the picture's header claims more pixels than are decoded. Reads the header alone, and decodes nothing. */
  isTooLarge(bytes: Uint8Array): Promise<boolean>;
  /**
   * @returns a WebP of exactly this width (pixels), upright and without metadata; null when the bytes cannot be decoded,
   * claim too many pixels, or are far too tall
   */
  toWebp(bytes: Uint8Array, width: number, quality: number): Promise<Buffer | null>;
}

/** What the first chunk of a PNG claims; null for anything else. Source: PNG, section 11.2.1. */
function pixelsOfPng(bytes: Uint8Array): number | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.byteLength < 24 || view.getUint32(0) !== 0x89504e47 || view.getUint32(12) !== 0x49484452) {
    return null;
  }
  return view.getUint32(16) * view.getUint32(20);
}

export function createDecoder(): Decoder {
  const limit = pLimit(MAX_AT_ONCE);

  async function toWebp(bytes: Uint8Array, width: number, quality: number): Promise<Buffer | null> {
    const sharp = await loadSharp();
    try {
      const picture = sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error', pages: 1 });
      const size = (await picture.metadata()).autoOrient;
      if (size.height > size.width * MAX_HEIGHT_PER_WIDTH) return null;
      return await picture
        .autoOrient()
        .resize({ width })
        .webp({ quality })
        .timeout({ seconds: TIMEOUT_SECS })
        .toBuffer();
    } catch {
      return null;
    }
  }

  async function isTooLarge(bytes: Uint8Array): Promise<boolean> {
    // The library refuses to read the headers of the largest ones.
    const claimed = pixelsOfPng(bytes);
    if (claimed !== null) return claimed > MAX_PIXELS;
    const sharp = await loadSharp();
    try {
      const { width, height, pages = 1 } = await sharp(bytes, { limitInputPixels: false }).metadata();
      return width * height * pages > MAX_PIXELS;
    } catch {
      // A header that cannot be read claims nothing, and such a picture is never decoded.
      return false;
    }
  }

  return {
    isTooLarge: (bytes) => limit(isTooLarge, bytes),
    toWebp: (bytes, width, quality) => limit(toWebp, bytes, width, quality),
  };
}

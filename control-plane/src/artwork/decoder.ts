import pLimit from 'p-limit';
import type Sharp from 'sharp';

/**
 * Slightly above 8K. A picture that claims more pixels is not decoded, because a header of a few bytes can claim any
 * size.
 */
export const MAX_PIXELS = 8192 * 4608;
/** A taller picture would exceed the limits of WebP. */
const MAX_HEIGHT_PER_WIDTH = 4;
/** Time limit for one picture. An ordinary picture takes a tenth of a second. */
const TIMEOUT_SECS = 10;
/**
 * Maximum scans of a progressive JPEG; an ordinary one has ten. For each scan the library walks the whole picture
 * before it checks its time limit. For a picture of MAX_PIXELS this took 32 ms on one core, and 254 kB can contain
 * 2,646 scans.
 */
const MAX_SCANS = 200;
/**
 * Maximum pictures that are decoded at the same time. Decoding shares its threads with password hashing and name
 * look-ups.
 */
const MAX_AT_ONCE = 2;

/** The only loaders that run on untrusted bytes, and only from memory. */
const LOADERS = ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer'];

let library: Promise<typeof Sharp> | null = null;

/** The library is loaded with the first picture, because many processes never need its 20 MB of native code. */
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

/** Scales pictures whose type was detected. */
export interface Decoder {
  /** Whether the picture's header claims too many pixels. Reads only the header. */
  isTooLarge(bytes: Uint8Array): Promise<boolean>;
  /**
   * @returns a WebP of exactly this width (pixels), upright and without metadata; null when the bytes cannot be
   * decoded, claim too many pixels, have too many scans, or are too tall
   */
  toWebp(bytes: Uint8Array, width: number, quality: number): Promise<Buffer | null>;
}

/** Pixels in a PNG's first chunk; null for other types. Source: PNG, section 11.2.1. */
function pixelsOfPng(bytes: Uint8Array): number | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.byteLength < 24 || view.getUint32(0) !== 0x89504e47 || view.getUint32(12) !== 0x49484452) {
    return null;
  }
  return view.getUint32(16) * view.getUint32(20);
}

const SCAN = Buffer.from([0xff, 0xda]);

/** Whether a JPEG has too many scans. Metadata bytes can look like a scan: on average one pair of bytes in 65,536. */
function hasTooManyScans(bytes: Uint8Array): boolean {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.length < 2 || view.readUInt16BE(0) !== 0xffd8) return false;
  let scans = 0;
  for (let at = view.indexOf(SCAN); at !== -1; at = view.indexOf(SCAN, at + SCAN.length)) scans += 1;
  return scans > MAX_SCANS;
}

export function createDecoder(): Decoder {
  const limit = pLimit(MAX_AT_ONCE);

  async function toWebp(bytes: Uint8Array, width: number, quality: number): Promise<Buffer | null> {
    if (hasTooManyScans(bytes)) return null;
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
    // The library refuses to read the headers of the largest PNG pictures, so their pixels are counted here.
    const claimed = pixelsOfPng(bytes);
    if (claimed !== null) return claimed > MAX_PIXELS;
    const sharp = await loadSharp();
    try {
      const { width, height, pages = 1 } = await sharp(bytes, { limitInputPixels: false }).metadata();
      return width * height * pages > MAX_PIXELS;
    } catch {
      // Accept an unreadable header: its picture is never decoded.
      return false;
    }
  }

  return {
    isTooLarge: (bytes) => limit(isTooLarge, bytes),
    toWebp: (bytes, width, quality) => limit(toWebp, bytes, width, quality),
  };
}

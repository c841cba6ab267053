/**
 * Pictures built without an image library: in this process the library refuses most inputs from which it could make
 * pictures. A different seed gives a different colour and hash.
 */

import { crc32, deflateSync } from 'node:zlib';

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

/** A complete PNG of one colour. Its rows compress well, so even a picture with many pixels has few bytes. */
export function png(width: number, height: number, seed = 0): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8-bit palette.
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from([seed & 0xff, (seed >> 8) & 0xff, 0x55])),
    chunk('IDAT', deflateSync(Buffer.alloc((width + 1) * height))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A PNG whose header claims too many pixels. */
export function claimingPng(width: number, height: number): Buffer {
  const honest = png(4, 4);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([honest.subarray(0, 8), chunk('IHDR', header), honest.subarray(8 + 25)]);
}

/** A JPEG of one pixel. */
export const JPEG = Buffer.from(
  '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AN//Z',
  'base64',
);

/** A segment of a JPEG. Source: ITU-T T.81, annex B. */
function segment(marker: number, ...data: number[]): Buffer {
  return Buffer.from([0xff, marker, (data.length + 2) >> 8, (data.length + 2) & 0xff, ...data]);
}

/**
 * A valid progressive JPEG of 1024×1024 grey pixels with many scans, one for each bit of each coefficient.
 * @param scans 1 to 883 (count)
 */
export function jpegOfScans(scans: number): Buffer {
  const blocks = 128 * 128;
  const parts = [
    Buffer.from([0xff, 0xd8]),
    segment(0xdb, 0, ...Array(64).fill(1)),
    segment(0xc2, 8, 4, 0, 4, 0, 1, 1, 0x11, 0),
    // Each Huffman table has one code of one bit: the DC table codes "no difference", the AC table "end of band for
    // 16,384 blocks".
    segment(0xc4, 0x00, 1, ...Array(15).fill(0), 0),
    segment(0xc4, 0x10, 1, ...Array(15).fill(0), 0xe0),
    segment(0xda, 1, 1, 0, 0, 0, 0),
    Buffer.alloc(blocks / 8),
  ];
  for (let scan = 0; scan < scans - 1; scan += 1) {
    const low = 13 - Math.floor(scan / 63);
    const coefficient = 1 + (scan % 63);
    const high = low === 13 ? 0 : low + 1;
    parts.push(segment(0xda, 1, 1, 0, coefficient, coefficient, (high << 4) | low), Buffer.from([0, 1]));
  }
  return Buffer.concat([...parts, Buffer.from([0xff, 0xd9])]);
}

/** A WebP of one pixel. */
export const WEBP = Buffer.from('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==', 'base64');

export const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
export const SVG = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>',
);
export const HTML = Buffer.from('<!doctype html><script>alert(1)</script>');

/** A valid picture that a browser could also render as HTML. */
export const POLYGLOT = Buffer.concat([JPEG, HTML]);

import { expect, test } from 'vitest';
import { createDecoder } from './decoder.ts';
import { claimingPng, GIF, HTML, JPEG, jpegOfScans, png, SVG, WEBP } from './testing/pictures.ts';

const decoder = createDecoder();

test.each([
  ['a JPEG', JPEG],
  ['a progressive JPEG', jpegOfScans(200)],
  ['a PNG', png(4, 6)],
  ['a WebP', WEBP],
])('%s becomes a WebP', async (_, bytes) => {
  const made = await decoder.toWebp(bytes, 30, 80);
  expect(made?.subarray(8, 12).toString('latin1')).toBe('WEBP');
});

test.each([
  ['a PNG with as many as are decoded', png(8192, 4608), false],
  ['a PNG with one row more', claimingPng(8192, 4609), true],
  ['a PNG whose header no library reads', claimingPng(0xffffffff, 0xffffffff), true],
  ['a PNG that is cut off', png(4, 4).subarray(0, 20), false],
  ['a JPEG', JPEG, false],
  ['a WebP', WEBP, false],
])('%s has too many pixels: %s', async (_, bytes, expected) => {
  expect(await decoder.isTooLarge(bytes)).toBe(expected);
});

// Even if one of these passed the type check, no loader may run for it.
test.each([
  ['an SVG', SVG],
  ['a GIF', GIF],
  ['a TIFF', Buffer.from('49492a0008000000', 'hex')],
  ['a page', HTML],
  ['nothing', Buffer.alloc(0)],
  ['a PNG that claims 400 million pixels', claimingPng(20_000, 20_000)],
  ['a PNG that has them', png(20_000, 20_000)],
  ['a PNG far taller than wide', png(1, 1_000)],
  ['a JPEG with a scan for each bit', jpegOfScans(883)],
])('%s becomes nothing', async (_, bytes) => {
  expect(await decoder.toWebp(bytes, 30, 80)).toBeNull();
});

import { expect, test } from 'vitest';
import { acceptsGzip } from './accept-encoding.ts';

test.each([
  [undefined, false],
  ['', false],
  ['identity', false],
  ['gzip, deflate, br, zstd', true],
  ['br;q=1.0, GZIP;q=0.8', true],
  ['x-gzip', true],
  ['gzip;q=0', false],
  ['gzip; q=0.000, *', false],
  ['*;q=0', false],
  ['br, *', true],
  ['gzipped', false],
])('a client that sends Accept-Encoding: %s gets gzip: %s', (header, expected) => {
  expect(acceptsGzip(header)).toBe(expected);
});

import { expect, test } from 'vitest';
import { toCatalogCodec, toSessionCodec } from './codec-spelling.ts';

test.each([
  ['h264', 'h264'],
  ['hevc', 'h265'],
  ['av1', 'av1'],
] as const)('what the catalog calls %s is %s in a session', (catalog, session) => {
  expect(toSessionCodec(catalog)).toBe(session);
  expect(toCatalogCodec(session)).toBe(catalog);
});

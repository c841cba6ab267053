import { expect, test } from 'vitest';
import { isManagedImage } from './managed-image.ts';

test.each([
  ['ghcr.io/x/retro@sha256:0123', true, 'named by a digest'],
  ['ghcr.io/x/retro:1.2@sha256:0123', true, 'named by a tag and a digest'],
  ['service-local/retro:1.2', true, 'built here for this image'],
  ['service-local/retro:', true, 'the prefix is the rule'],
  ['service-local/retro', false, 'built here, but without the separator'],
  ['service-local/retro-2:1', false, 'built here for another image'],
  ['service-local/other:1', false, 'built here for another image'],
  ['x/service-local/retro:1', false, 'the prefix elsewhere'],
  ['ghcr.io/x/retro:latest', false, 'a tag, which may move'],
  ['', false, 'none'],
])('a managed preset of image retro may name %j: %s (%s)', (image, allowed) =>
  expect(isManagedImage('retro', image)).toBe(allowed),
);

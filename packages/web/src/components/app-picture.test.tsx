// @vitest-environment happy-dom
import { cleanup, fireEvent, render } from '@testing-library/react';
import { afterEach, expect, test } from 'vitest';
import { app } from '../../test/fixtures.ts';
import { MOTIFS, posterOf } from '../theme/poster.ts';
import { AppPicture } from './app-picture.tsx';
import { posterImage } from './poster-image.ts';

afterEach(cleanup);

const ASSET = `/v1/artwork/${'a'.repeat(64)}.png`;
const imageOf = (cover_url: string | null) =>
  render(<AppPicture app={{ ...app(0), cover_url }} shape="cover" />).container.querySelector('img');

test('a stored picture is requested in the displayed width', () => {
  const image = imageOf(ASSET);
  expect(image?.getAttribute('src')).toBe(`${ASSET}?w=600`);
  expect(image?.getAttribute('srcset')).toBe(
    `${ASSET}?w=300 300w, ${ASSET}?w=600 600w, ${ASSET}?w=1200 1200w`,
  );
  expect(image?.getAttribute('sizes')).toMatch(/^auto, /);
});

test('another picture of this server is requested unchanged', () => {
  const image = imageOf('/pictures/mine.png');
  expect([image?.getAttribute('src'), image?.getAttribute('srcset')]).toEqual(['/pictures/mine.png', null]);
});

test.each([null, '', 'https://pictures.example/a.png', '//pictures.example/a.png'])(
  '%j is never loaded: the gradient stands for it',
  (address) => {
    expect(imageOf(address)).toBeNull();
  },
);

test('a picture that cannot be loaded is replaced by the gradient', () => {
  const view = render(<AppPicture app={{ ...app(0), cover_url: ASSET }} shape="cover" />);
  fireEvent.error(view.container.querySelector('img') as HTMLImageElement);
  expect(view.container.querySelector('img')).toBeNull();
});

test('the drawing is not an element of the page, and shows one letter of the name', () => {
  const drawn = (shape: 'cover' | 'hero') =>
    render(<AppPicture app={{ ...app(0), name: '<script>', cover_url: null }} shape={shape} />).container
      .firstElementChild as HTMLElement;
  const cover = drawn('cover');
  expect(cover.childElementCount).toBe(0);
  expect(cover.dataset.initial).toBe('S');
  expect(drawn('hero').dataset.initial).toBeUndefined();
});

/** One id for each motif. */
const motifIds = Array.from(
  { length: 60 },
  (_none, n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
)
  .map((id) => [posterOf(id).motif, id] as const)
  .filter(([motif], at, all) => all.findIndex((other) => other[0] === motif) === at);

test('each motif is found', () =>
  expect(motifIds.map(([motif]) => motif).toSorted()).toEqual([...MOTIFS].toSorted()));

test.each(motifIds)('the picture "%s" is a complete background in both shapes', (_motif, id) => {
  for (const shape of ['cover', 'hero'] as const) {
    const background = posterImage(id, shape);
    expect(background).toMatch(/-gradient\(/);
    expect(background).not.toMatch(/NaN|undefined|Infinity/);
    // The last layer is the colour behind all shapes.
    expect(background).toMatch(/, oklch\([^)]*\)$/);
    expect(background.split('(').length).toBe(background.split(')').length);
  }
});

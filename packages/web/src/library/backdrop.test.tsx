// @vitest-environment happy-dom
import { cleanup, render } from '@testing-library/react';
import { afterEach, expect, test } from 'vitest';
import { app } from '../../test/fixtures.ts';
import { Backdrop } from './backdrop.tsx';

afterEach(cleanup);

const withHero = (index: number) => ({ ...app(index), hero_url: `/hero/${index}.webp` });

test('the previous picture stays below until the next one is loaded, and there are at most two', () => {
  const view = render(<Backdrop app={null} />);
  const pictures = () => [...view.container.querySelectorAll('img')].map((each) => each.getAttribute('src'));
  expect(pictures()).toEqual([]);
  for (const index of [0, 1, 2]) view.rerender(<Backdrop app={withHero(index)} />);
  expect(pictures()).toEqual(['/hero/1.webp', '/hero/2.webp']);
  view.rerender(<Backdrop app={withHero(1)} />);
  expect(pictures()).toEqual(['/hero/2.webp', '/hero/1.webp']);
});

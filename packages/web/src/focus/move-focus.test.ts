// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { moveByArrow } from './move-focus.ts';

/** A page of 1,000 px: a fixed header, filters on the right, a running app on the left, and tiles. */
const PAGE = `
  <a href="#main" data-box="8 -40 120 36">Skip to content</a>
  <header>
    <a href="/app" data-box="20 10 100 44">Footlight</a>
    <button data-box="840 10 120 44">alice</button>
  </header>
  <main>
    <button data-box="600 120 90 40">Games</button>
    <input type="search" data-box="700 120 200 40" aria-label="Find" />
    <button data-box="30 220 90 40">Resume</button>
    <button data-tile="a" data-box="20 320 180 300">A</button>
    <button data-tile="b" data-box="220 320 180 300">B</button>
  </main>`;

/** Scroll position of the page. */
let scrolled = 0;

beforeEach(() => {
  scrolled = 0;
  document.body.innerHTML = PAGE;
  for (const element of document.querySelectorAll<HTMLElement>('[data-box]')) {
    const [left = 0, top = 0, width = 0, height = 0] = (element.dataset.box ?? '').split(' ').map(Number);
    element.getBoundingClientRect = () =>
      new DOMRect(left, element.closest('main') === null ? top : top - scrolled, width, height);
    element.checkVisibility = () => true;
    element.scrollIntoView = () => {};
    // The test's document does not know `:enabled`.
    if (!element.matches('a')) element.tabIndex = 0;
  }
  document.addEventListener('keydown', moveByArrow);
});
afterEach(() => {
  document.removeEventListener('keydown', moveByArrow);
  vi.restoreAllMocks();
});

/** Names of the focused elements on the way. */
function go(from: string, ...ways: string[]): string[] {
  const nameOf = (element: Element | null) => element?.ariaLabel || element?.textContent || '';
  const start = [...document.querySelectorAll<HTMLElement>('[data-box]')].find((one) => nameOf(one) === from);
  start?.focus();
  return ways.map((way) => {
    document.activeElement?.dispatchEvent(
      new KeyboardEvent('keydown', { key: `Arrow${way}`, bubbles: true, cancelable: true }),
    );
    return nameOf(document.activeElement);
  });
}

test('moving up from the tiles passes every row of the page before its header', () => {
  expect(go('A', 'Up', 'Up', 'Up')).toEqual(['Resume', 'Games', 'alice']);
});

test('the fixed header does not come before rows that are scrolled out of view', () => {
  scrolled = 200;
  expect(go('A', 'Up', 'Up')).toEqual(['Resume', 'Games']);
});

test('left and right stop at the end of a row of tiles; another row continues in the next column', () => {
  expect(go('B', 'Right')).toEqual(['B']);
  expect(go('Resume', 'Right')).toEqual(['B']);
});

test('no arrow key reaches the skip link, which is out of view', () => {
  expect(go('Footlight', 'Up')).toEqual(['Footlight']);
});

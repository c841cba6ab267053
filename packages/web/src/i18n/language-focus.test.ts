// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { addLanguages, chooseLanguage } from './language.ts';

addLanguages({ de: async () => ({ default: {} }) });

const LIST = '<select data-language="list"></select>';

const show = (page: string): void => {
  document.body.innerHTML = page;
};

const focused = (selector: string): HTMLElement => {
  const control = document.querySelector<HTMLElement>(selector) as HTMLElement;
  control.focus();
  return control;
};

beforeEach(() => show(''));
afterEach(async () => {
  vi.unstubAllGlobals();
  show('');
  await chooseLanguage('auto');
});

test('the focus goes back to the list, also where the page shows it a while after it is made anew', async () => {
  show(`<button data-person-menu></button>${LIST}`);
  focused('select');
  const chosen = chooseLanguage('de');
  show('<button data-person-menu></button>');
  let frames = 0;
  vi.stubGlobal('requestAnimationFrame', (run: FrameRequestCallback) => {
    frames += 1;
    if (frames === 10) show(`<button data-person-menu></button>${LIST}`);
    setImmediate(() => run(frames));
  });
  await chosen;
  expect(document.activeElement).toBe(document.querySelector('select'));
});

test('a link of the menu, which the change closes, gives the focus to the button of the menu', async () => {
  show('<button data-person-menu></button><button data-language="de"></button>');
  focused('[data-language]');
  const chosen = chooseLanguage('de');
  show('<button data-person-menu></button>');
  await chosen;
  expect(document.activeElement).toBe(document.querySelector('[data-person-menu]'));
});

test('whoever went on meanwhile keeps the focus', async () => {
  show(`${LIST}<input>`);
  focused('select');
  const chosen = chooseLanguage('de');
  show('<input>');
  const input = focused('input');
  await chosen;
  expect(document.activeElement).toBe(input);
});

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

test('the focus returns to the language list, even if the page renders it later', async () => {
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

test('after a press on a menu link, which closes the menu, the menu’s button has the focus', async () => {
  show('<button data-person-menu></button><button data-language="de"></button>');
  focused('[data-language]');
  const chosen = chooseLanguage('de');
  show('<button data-person-menu></button>');
  await chosen;
  expect(document.activeElement).toBe(document.querySelector('[data-person-menu]'));
});

test('a person who focused another control meanwhile keeps that focus', async () => {
  show(`${LIST}<input>`);
  focused('select');
  const chosen = chooseLanguage('de');
  show('<input>');
  const input = focused('input');
  await chosen;
  expect(document.activeElement).toBe(input);
});

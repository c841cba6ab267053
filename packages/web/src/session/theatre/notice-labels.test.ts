import { afterEach, expect, test } from 'vitest';
import german from '../../i18n/de.po';
import { putInForce } from '../../i18n/translate.ts';
import { noticeLabel } from './notice-labels.ts';

afterEach(() => putInForce({}, 'en-GB'));

test('a message with a known code is shown in the person’s language', () => {
  const notice = { code: 'keyboard_layout_unknown', text: 'this host has no keyboard layout xx' };
  expect(noticeLabel(notice)).toMatch(/^The machine of this app does not have your keyboard layout/);
  putInForce(german, 'de');
  expect(noticeLabel(notice)).toMatch(/^Der Rechner dieser App hat deine Tastaturbelegung nicht/);
});

test.each(['something_new', 'constructor'])('a message with the code %s is shown unchanged', (code) => {
  putInForce(german, 'de');
  expect(noticeLabel({ code, text: 'The fan stands still.' })).toBe('The fan stands still.');
});

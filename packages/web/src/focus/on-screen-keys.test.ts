import { expect, test } from 'vitest';
import { keyRows } from './on-screen-keys.ts';

const signsOf = (shift: boolean, signs: boolean, language = 'en') =>
  keyRows({ shift, signs }, language)
    .flat()
    .flatMap((key) => ('writes' in key ? [key.writes] : []))
    .join('');

test('every ASCII character can be typed, because a password may contain any', () => {
  const all = signsOf(false, false) + signsOf(true, false) + signsOf(false, true);
  for (let code = 32; code < 127; code++) expect(all).toContain(String.fromCharCode(code));
});

test('a language has its own letters', () => {
  expect(signsOf(false, false, 'de')).toContain('äöüß');
  expect(signsOf(true, false, 'de')).toContain('ÄÖÜ');
  expect(signsOf(false, false)).not.toContain('ä');
});

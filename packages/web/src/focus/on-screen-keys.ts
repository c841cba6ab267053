/** A key of the on-screen keyboard: the character that it writes, or what it does. */
export type ScreenKey = { writes: string } | { does: 'shift' | 'signs' | 'erase' | 'done' };

/** State of the keyboard, which decides which keys are shown. */
export interface KeyPage {
  shift: boolean;
  signs: boolean;
}

const DIGITS = '1234567890';
const LETTERS = ['qwertyuiop', 'asdfghjkl', 'zxcvbnm'];
/** Letters that English does not have, by language. */
const OWN_LETTERS: Readonly<Record<string, string>> = { de: 'äöüß' };
/** All other ASCII characters and a few more in rows of ten, because a password may contain any of them. */
const SIGNS = ['!"#$%&\'()*', '+,-./:;<=>', '?@[\\]^_`{|', '}~€£§°'];

/** Rows of keys. Pure. @param language of the page, such as `de` */
export function keyRows({ shift, signs }: KeyPage, language: string): ScreenKey[][] {
  const own = OWN_LETTERS[language];
  const rows = signs ? SIGNS : own === undefined ? LETTERS : [...LETTERS, own];
  const written = (row: string) =>
    [...row].map(
      (sign): ScreenKey => ({ writes: shift && !signs ? sign.toLocaleUpperCase(language) : sign }),
    );
  return [
    written(DIGITS),
    ...rows.map(written),
    [
      { does: 'shift' },
      { does: 'signs' },
      { writes: '@' },
      { writes: '.' },
      { writes: '-' },
      { writes: ' ' },
      { does: 'erase' },
      { does: 'done' },
    ],
  ];
}

/**
 * The only lowercase letter with the same uppercase form as another letter. Case folding keeps the two letters apart.
 */
const DOTLESS_I = '\u0131';

/** Characters that are invisible, and the blank pattern of Braille. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * Folded form that look-alike usernames share: NFKC and full case folding, without invisible characters. Pure.
 * JavaScript has no case folding; for every other letter the sequence lower, upper, lower gives the same result.
 * Source: The Unicode Standard, section 3.13, D146 and R5 (toNFKC_Casefold).
 */
export function foldUsername(username: string): string {
  const folded = Array.from(username.normalize('NFKC').replace(UNSEEN, ''), (letter) =>
    letter === DOTLESS_I ? letter : letter.toLowerCase().toUpperCase().toLowerCase(),
  );
  return folded.join('').normalize('NFKC');
}

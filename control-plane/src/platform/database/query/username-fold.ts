/** The only lowercase letter whose uppercase form is that of another letter, which case folding keeps apart. */
const DOTLESS_I = '\u0131';

/**
 * What two usernames have in common that look equal: NFKC and full case folding. Pure.
 * JavaScript has no case folding; for every other letter lower, upper and lower again come to the same.
 * Source: The Unicode Standard, section 3.13, D146.
 */
export function foldUsername(username: string): string {
  const folded = Array.from(username.normalize('NFKC'), (letter) =>
    letter === DOTLESS_I ? letter : letter.toLowerCase().toUpperCase().toLowerCase(),
  );
  return folded.join('').normalize('NFKC');
}

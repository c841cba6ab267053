/**
 * Edition suffixes that do not make a different game. Longer suffixes come first, so that a shorter one does not remove
 * only a part of them.
 */
const EDITIONS = [
  'game of the year edition',
  'remastered edition',
  'definitive edition',
  'complete edition',
  'enhanced edition',
  'game of the year',
  'goty edition',
  'remastered',
  'goty',
].map((edition) => ` ${edition}`);

/**
 * Normalized title: lower-case words of letters and digits with single spaces, without one edition suffix. Letters of
 * every script are kept; otherwise all Japanese titles would be equal.
 */
export function normaliseTitle(title: string): string {
  const words = title
    // Remove symbols such as ™ first; the normal form would turn them into letters.
    .replace(/\p{So}/gu, ' ')
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();
  const edition = EDITIONS.find((suffix) => words.endsWith(suffix));
  return edition === undefined ? words : words.slice(0, -edition.length);
}

/** Whether two titles are equal after normalization. A title without letters and digits equals none. */
export function isSameTitle(a: string, b: string): boolean {
  const normalised = normaliseTitle(a);
  return normalised !== '' && normalised === normaliseTitle(b);
}

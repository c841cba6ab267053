/** What a shop adds to a title without its being another game. Longer ones first, so that none is cut in half. */
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
 * A title as it is compared: lower-case words of letters and digits, one space between them, without one edition at
 * the end. Letters of every script count, or two titles in Japanese would both be nothing and so the same.
 */
export function normaliseTitle(title: string): string {
  const words = title
    // Signs such as ™ go first: the normal form would make letters of them.
    .replace(/\p{So}/gu, ' ')
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();
  const edition = EDITIONS.find((suffix) => words.endsWith(suffix));
  return edition === undefined ? words : words.slice(0, -edition.length);
}

/** Whether two titles name the same game. A title without a letter or digit names none. */
export function isSameTitle(one: string, other: string): boolean {
  const normalised = normaliseTitle(one);
  return normalised !== '' && normalised === normaliseTitle(other);
}

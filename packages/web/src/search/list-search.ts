import { MAX_SEARCH_CHARACTERS } from '@footlight/protocol/bounds';

/** Named texts of a list, stored in the URL: filters, the search and the order. */
export type ListSearch<Key extends string> = { [Name in Key]?: string };

/**
 * Reads the named texts from a URL's search part. Blank texts and unknown keys are dropped. The router reads a text of
 * digits as a number, so numbers are converted to text. The router merges the result over everything that it read, so a
 * name without a text must be present as undefined. Otherwise a manipulated URL could pass an object or a list to a
 * page.
 */
export function parseListSearch<const Key extends string>(
  search: Record<string, unknown>,
  keys: readonly Key[],
): ListSearch<Key> {
  const found = keys.map((key): [string, string | undefined] => {
    const value = search[key];
    if (typeof value !== 'string' && typeof value !== 'number') return [key, undefined];
    const text = String(value).trim().slice(0, MAX_SEARCH_CHARACTERS);
    return [key, text === '' ? undefined : text];
  });
  return Object.fromEntries(found) as ListSearch<Key>;
}

import { MAX_SEARCH_CHARACTERS, MAX_TARGET_TYPE_CHARACTERS } from '@footlight/protocol/bounds';

/** State in the activity page's URL. */
export interface ActivitySearch {
  q?: string;
  /** Kind of target. */
  about?: string;
  /** Number of past days. */
  days?: number;
}

/** Parses the URL's search part; unknown keys are dropped. */
export function parseActivitySearch(search: Record<string, unknown>): ActivitySearch {
  const { q, about, days } = search;
  return {
    ...(typeof q === 'string' && q !== '' ? { q: q.slice(0, MAX_SEARCH_CHARACTERS) } : {}),
    ...(typeof about === 'string' && about !== ''
      ? { about: about.slice(0, MAX_TARGET_TYPE_CHARACTERS) }
      : {}),
    ...(typeof days === 'number' && days >= 1 && days <= 366 ? { days: Math.floor(days) } : {}),
  };
}

import { MAX_SEARCH_CHARACTERS } from '@footlight/protocol/bounds';
import type { AdminSessionFilter } from '@footlight/protocol/rest';

/** Filters of the sessions page in order, with their labels. */
export const SESSION_FILTERS: readonly { value: AdminSessionFilter; words: string }[] = [
  { value: 'active', words: 'Active' },
  { value: 'ended', words: 'Ended' },
  { value: 'failed', words: 'Failed' },
  { value: 'all', words: 'All' },
];

/** State in the sessions page's URL. */
export interface SessionSearch {
  state?: AdminSessionFilter;
  q?: string;
  open?: string;
}

/** Parses the URL's search part; unknown keys are dropped. */
export function parseSessionSearch(search: Record<string, unknown>): SessionSearch {
  const state = SESSION_FILTERS.find((filter) => filter.value === search.state)?.value;
  return {
    ...(state === undefined || state === 'active' ? {} : { state }),
    ...(typeof search.q === 'string' && search.q !== ''
      ? { q: search.q.slice(0, MAX_SEARCH_CHARACTERS) }
      : {}),
    ...(typeof search.open === 'string' ? { open: search.open } : {}),
  };
}

import type { AdminSessionFilter } from '@footlight/protocol/rest';
import { parseListSearch } from './list-search.ts';

/** Filters of the sessions page in order. */
export const SESSION_FILTERS: readonly AdminSessionFilter[] = ['active', 'ended', 'failed', 'all'];

/** State of the sessions page, stored in the URL. */
export interface SessionSearch {
  state?: AdminSessionFilter;
  q?: string;
  sort?: string;
}

/** Parses the URL's search part; unknown keys are dropped, and missing values are undefined, as in parseListSearch. */
export function parseSessionSearch(search: Record<string, unknown>): SessionSearch {
  const state = SESSION_FILTERS.find((filter) => filter === search.state);
  return {
    state: state === 'active' ? undefined : state,
    ...parseListSearch(search, ['q', 'sort']),
  } as SessionSearch;
}

import type { AdminSessionFilter } from '@footlight/protocol/rest';
import { parseListSearch } from './list-search.ts';

/** Filters of the sessions page in order, with their labels. */
export const SESSION_FILTERS: readonly { value: AdminSessionFilter; label: string }[] = [
  { value: 'active', label: 'Active' },
  { value: 'ended', label: 'Ended' },
  { value: 'failed', label: 'Failed' },
  { value: 'all', label: 'All' },
];

/** State of the sessions page, stored in the URL. */
export interface SessionSearch {
  state?: AdminSessionFilter;
  q?: string;
  sort?: string;
}

/** Parses the URL's search part; unknown keys are dropped, and missing values are undefined, as in parseListSearch. */
export function parseSessionSearch(search: Record<string, unknown>): SessionSearch {
  const state = SESSION_FILTERS.find((filter) => filter.value === search.state)?.value;
  return {
    state: state === 'active' ? undefined : state,
    ...parseListSearch(search, ['q', 'sort']),
  } as SessionSearch;
}

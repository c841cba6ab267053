import type { AdminSessionFilter } from '@footlight/protocol/rest';

/** The states that the sessions page can show, in its order, with their words. */
export const SESSION_FILTERS: readonly { value: AdminSessionFilter; words: string }[] = [
  { value: 'active', words: 'Active' },
  { value: 'ended', words: 'Ended' },
  { value: 'failed', words: 'Failed' },
  { value: 'all', words: 'All' },
];

/** What the sessions page keeps in its address. */
export interface SessionSearch {
  state?: AdminSessionFilter;
  q?: string;
  open?: string;
}

/** Reads the address's search part; what it does not know is dropped. */
export function parseSessionSearch(search: Record<string, unknown>): SessionSearch {
  const state = SESSION_FILTERS.find((filter) => filter.value === search.state)?.value;
  return {
    ...(state === undefined || state === 'active' ? {} : { state }),
    ...(typeof search.q === 'string' && search.q !== '' ? { q: search.q.slice(0, 100) } : {}),
    ...(typeof search.open === 'string' ? { open: search.open } : {}),
  };
}

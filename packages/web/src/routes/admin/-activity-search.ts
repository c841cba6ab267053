/** What the activity page keeps in its address. */
export interface ActivitySearch {
  q?: string;
  /** Kind of thing it was done to. */
  about?: string;
  /** How many days back. */
  days?: number;
}

/** Reads the address's search part; what it does not know is dropped. */
export function parseActivitySearch(search: Record<string, unknown>): ActivitySearch {
  const { q, about, days } = search;
  return {
    ...(typeof q === 'string' && q !== '' ? { q: q.slice(0, 100) } : {}),
    ...(typeof about === 'string' && about !== '' ? { about: about.slice(0, 64) } : {}),
    ...(typeof days === 'number' && days >= 1 && days <= 366 ? { days: Math.floor(days) } : {}),
  };
}

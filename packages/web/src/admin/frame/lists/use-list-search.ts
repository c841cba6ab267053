import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ListSearch, parseListSearch } from '../../../search/list-search.ts';

/**
 * The state of a list in the URL of its page. The route does not declare these URL parameters, because every user loads
 * the routes.
 * @returns the state, and a function that replaces it
 */
export function useListSearch<const Key extends string>(
  keys: readonly Key[],
): [ListSearch<Key>, (next: ListSearch<Key>) => void] {
  const search = useSearch({ strict: false }) as Record<string, unknown>;
  const navigate = useNavigate();
  return [
    parseListSearch(search, keys),
    (next) => {
      const told = Object.entries(next).filter(([, value]) => value !== undefined && value !== '');
      // Keeps the state of other lists on the page.
      const others = Object.entries(search).filter(([key]) => !(keys as readonly string[]).includes(key));
      void navigate({ to: '.', search: Object.fromEntries([...others, ...told]) as never, replace: true });
    },
  ];
}

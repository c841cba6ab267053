import { MAX_SEARCH_CHARACTERS } from '@footlight/protocol/bounds';
import { Button, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { keepPreviousData, type QueryKey, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { clock } from '../../../clock.ts';
import { plural, t } from '../../../i18n/translate.ts';
import styles from '../admin-pages.module.css';

/**
 * Debounce of a search. It is longer than the pause between two keys while typing (about 200 ms), so a word causes one
 * request.
 */
const TYPING_MS = 250;

/** A page of the API; cursor null: this is the last page. */
interface Page<Item, Cursor> {
  items: readonly Item[];
  next_cursor: Cursor | null;
  /** Number of items on all pages; missing: the request did not ask for it. */
  total?: number | undefined;
}

/**
 * A paged list of the API. After a change of the filter, the current items stay until the new first page is loaded.
 * @param load fetches the page at the cursor; undefined: the first page
 * @param options.refetchMs refresh interval of all loaded pages; missing: no refresh
 * @param options.enabled false: nothing is loaded
 * @returns the query, the items of all loaded pages, and the number of items that the first page's answer has
 */
export function usePages<Item, Cursor extends string | number>(
  key: QueryKey,
  load: (cursor: Cursor | undefined, signal: AbortSignal) => Promise<Page<Item, Cursor>>,
  options: { refetchMs?: number; enabled?: boolean } = {},
) {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => load(pageParam as Cursor | undefined, signal),
    initialPageParam: undefined as Cursor | undefined,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
    refetchInterval: options.refetchMs ?? false,
    enabled: options.enabled ?? true,
  });
  const pages = query.data?.pages;
  return { query, items: pages?.flatMap((page) => page.items), total: pages?.[0]?.total };
}

/** Number of pages that are loaded to sort a list. In a longer list people use the search. Chosen, not measured. */
const SORTED_PAGES = 10;

/**
 * A paged list that its table sorts, because the service does not support the order. So its further pages are loaded,
 * too, while an order is chosen.
 * @returns as usePages; `sortedOf` is the number of sorted rows if the list has more rows, otherwise null
 */
export function useSortedPages<Item, Cursor extends string | number>(
  key: QueryKey,
  load: (cursor: Cursor | undefined, signal: AbortSignal) => Promise<Page<Item, Cursor>>,
  sort: string | undefined,
  options: { refetchMs?: number } = {},
) {
  const { query, items } = usePages(key, load, options);
  const { hasNextPage, isFetching, fetchNextPage } = query;
  const isSorted = sort !== undefined && sort !== '';
  const loaded = query.data?.pages.length ?? 0;
  useEffect(() => {
    if (isSorted && hasNextPage && !isFetching && loaded < SORTED_PAGES) void fetchNextPage();
  }, [isSorted, hasNextPage, isFetching, loaded, fetchNextPage]);
  return { query, items, sortedOf: isSorted && hasNextPage ? (items?.length ?? 0) : null };
}

/** Fetches the next page of a list, if there is one. @param props.sortedOf as returned by useSortedPages */
export function ShowMore(props: {
  query: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
  sortedOf?: number | null;
}) {
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = props.query;
  if (!hasNextPage) return null;
  if (typeof props.sortedOf === 'number')
    return (
      <p className={styles.dim}>
        {plural(
          props.sortedOf,
          'Only the first {n} row is sorted; there are more.',
          'Only the first {n} rows are sorted; there are more.',
        )}
      </p>
    );
  return (
    <Button className={styles.more ?? ''} loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
      {t('Show more')}
    </Button>
  );
}

/**
 * A field for a search text; `onChange` is debounced.
 * @param words label of the field: "Find an app"
 * @param hint parts of a row that are searched; missing: the label
 */
export function SearchField(props: {
  label: string;
  hint?: string;
  value: string;
  onChange: (text: string) => void;
}) {
  const { value, onChange } = props;
  const [text, setText] = useState(value);
  useEffect(() => {
    if (text.trim() === value) return;
    const timer = clock.setTimeout(() => onChange(text.trim()), TYPING_MS);
    return () => timer.cancel();
  }, [text, value, onChange]);
  return (
    <TextInput
      type="search"
      aria-label={props.label}
      placeholder={props.hint ?? props.label}
      leftSection={<IconSearch size={18} />}
      value={text}
      maxLength={MAX_SEARCH_CHARACTERS}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  );
}

import type { AppListItem, Success } from '@footlight/protocol/rest';
import {
  type InfiniteData,
  infiniteQueryOptions,
  type QueryClient,
  queryOptions,
  useInfiniteQuery,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { localeTag, plural, t } from '../i18n/translate.ts';
import { ownSessionsQuery } from '../launch/own-sessions.ts';
import { readRemembered } from './remembered-count.ts';

const PAGE = 200;

/** With fewer apps at the last visit there were no highlights. For a library of unknown size they are requested. */
const LEAST_WITH_HIGHLIGHTS = 12;

const appsQuery = infiniteQueryOptions({
  queryKey: keys.apps,
  queryFn: ({ pageParam, signal }) =>
    call('apps.list', {
      query: { limit: PAGE, ...(pageParam === '' ? {} : { cursor: pageParam }) },
      signal,
    }),
  initialPageParam: '',
  getNextPageParam: (page) => page.next_cursor,
  staleTime: 30_000,
  // Never removed from the cache, so that the library is unchanged after a long session.
  gcTime: Number.POSITIVE_INFINITY,
});

const highlightsQuery = queryOptions({
  queryKey: keys.highlights,
  queryFn: ({ signal }) => call('highlights.list', { signal }),
  staleTime: 30_000,
  // No retries, because the tiles wait for the answer.
  retry: false,
});

/** Requests the library's data before the first rendering, which takes a slow phone longer than the answers. */
export function askForLibrary(queryClient: QueryClient): void {
  void queryClient.prefetchInfiniteQuery(appsQuery);
  void queryClient.prefetchQuery(ownSessionsQuery);
  if (hadHighlights()) void queryClient.prefetchQuery(highlightsQuery);
}

/** Whether highlights are requested together with the apps: rows that came later would push the tiles down. */
export function hadHighlights(): boolean {
  return (readRemembered().apps ?? LEAST_WITH_HIGHLIGHTS) >= LEAST_WITH_HIGHLIGHTS;
}

/** The caller's apps, page by page; `apps` has the loaded ones, each once. */
export function useApps() {
  const query = useInfiniteQuery(appsQuery);
  const apps = useMemo(() => {
    // An app added while paging shifts the pages, so an app may be listed twice.
    const byId = new Map<string, AppListItem>();
    for (const page of query.data?.pages ?? []) for (const app of page.items) byId.set(app.id, app);
    return [...byId.values()];
  }, [query.data]);
  return { query, apps };
}

/** An app by its id: from the loaded pages, else requested; undefined while unknown, or without access to it. */
export function useAppOf(id: string, apps: readonly AppListItem[]): AppListItem | undefined {
  const listed = apps.find((app) => app.id === id);
  const lookup = useQuery({
    queryKey: keys.app(id),
    queryFn: ({ signal }) => call('apps.read', { params: { id }, signal }),
    enabled: listed === undefined,
    retry: false,
  });
  return listed ?? lookup.data?.app;
}

/** An app of the cached library; undefined if not cached. Makes no request. */
export function useListedApp(id: string | undefined): AppListItem | undefined {
  const queryClient = useQueryClient();
  const [listed] = useState(() =>
    queryClient
      .getQueryData<InfiniteData<Success<'apps.list'>>>(keys.apps)
      ?.pages.flatMap(({ items }) => items),
  );
  return useMemo(() => listed?.find((app) => app.id === id), [listed, id]);
}

/**
 * Highlights of the server, best first, with reasons; apps with a live session are shown elsewhere. An app beyond the
 * loaded pages is requested by its id. Without an answer the list is empty.
 * @param list the query of the apps; highlighted apps are not requested before it has succeeded
 */
export function useHighlights(
  list: { isSuccess: boolean },
  apps: readonly AppListItem[],
  enabled: boolean,
): { shown: AppListItem[]; captions: ReadonlyMap<string, string>; isPending: boolean } {
  const query = useQuery({ ...highlightsQuery, enabled });
  const items = useMemo(
    () => (query.data?.items ?? []).filter(({ reason }) => reason !== 'live'),
    [query.data],
  );
  const byId = useMemo(() => new Map(apps.map((app) => [app.id, app])), [apps]);
  const others = useQueries({
    queries: items
      .filter(({ app_id }) => list.isSuccess && !byId.has(app_id))
      .map(({ app_id: id }) => ({
        queryKey: keys.app(id),
        queryFn: ({ signal }: { signal: AbortSignal }) => call('apps.read', { params: { id }, signal }),
        staleTime: 30_000,
        retry: false,
      })),
    combine: (answers) => ({
      apps: answers.flatMap(({ data }) => (data === undefined ? [] : [data.app])),
      isPending: answers.some(({ isPending }) => isPending),
    }),
  });
  const shown = useMemo(() => {
    const found = new Map<string, AppListItem>(others.apps.map((app) => [app.id, app]));
    return items.flatMap(({ app_id }) => byId.get(app_id) ?? found.get(app_id) ?? []);
  }, [items, byId, others]);
  const captions = useMemo(
    () => new Map(items.map(({ app_id, reason, play_seconds }) => [app_id, captionOf(reason, play_seconds)])),
    [items],
  );
  return { shown, captions, isPending: (enabled && query.isPending) || others.isPending };
}

/** Short caption of a highlight's reason; unknown reasons have none. */
export function captionOf(reason: string, playSecs: number): string {
  if (reason === 'most_played') return playedLabel(playSecs);
  if (reason === 'resume') return t('Used before');
  return reason === 'recently_added' ? t('New') : '';
}

function playedLabel(seconds: number): string {
  if (seconds < 3600) {
    const minutes = Math.max(1, Math.round(seconds / 60));
    return plural(minutes, '{n} minute this week', '{n} minutes this week');
  }
  const hours = (seconds / 3600).toLocaleString(localeTag(), { maximumFractionDigits: 1 });
  return t('{hours} h this week', { hours });
}

/** Sets or removes a favourite optimistically; reverted when the server refuses. */
export function useFavourite() {
  const queryClient = useQueryClient();
  const show = (id: string, favourite: boolean) =>
    queryClient.setQueryData<InfiniteData<Success<'apps.list'>>>(keys.apps, (data) =>
      data === undefined
        ? undefined
        : {
            ...data,
            pages: data.pages.map((page) => ({
              ...page,
              items: page.items.map((app) => (app.id === id ? { ...app, favourite } : app)),
            })),
          },
    );
  return useMutation({
    mutationFn: ({ id, favourite }: Pick<AppListItem, 'id' | 'favourite'>) =>
      call(favourite ? 'favourites.add' : 'favourites.remove', { params: { app_id: id } }),
    async onMutate({ id, favourite }) {
      // A page that is being loaded would contain the old marks, so it is cancelled and requested again.
      await queryClient.cancelQueries({ queryKey: keys.apps });
      show(id, favourite);
    },
    onError: (_error, { id, favourite }) => show(id, !favourite),
  });
}

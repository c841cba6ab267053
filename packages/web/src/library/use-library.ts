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

/** With at least this many apps, highlights are requested. They are also requested if the number is not known. */
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
  // Never removed from the cache, so that the library is shown unchanged after a long session.
  gcTime: Number.POSITIVE_INFINITY,
});

const highlightsQuery = queryOptions({
  queryKey: keys.highlights,
  queryFn: ({ signal }) => call('highlights.list', { signal }),
  staleTime: 30_000,
  // Not retried, because the tiles wait for the answer.
  retry: false,
});

/**
 * Requests the library's data before the first rendering, because on a slow phone the rendering takes longer than the
 * answers.
 */
export function askForLibrary(queryClient: QueryClient): void {
  void queryClient.prefetchInfiniteQuery(appsQuery);
  void queryClient.prefetchQuery(ownSessionsQuery);
  if (hadHighlights()) void queryClient.prefetchQuery(highlightsQuery);
}

/**
 * Whether highlights are requested together with the apps. If their row were shown later, it would push the tiles down.
 */
export function hadHighlights(): boolean {
  return (readRemembered().apps ?? LEAST_WITH_HIGHLIGHTS) >= LEAST_WITH_HIGHLIGHTS;
}

/** The caller's apps, loaded page by page. `apps` contains each loaded app once. */
export function useApps() {
  const query = useInfiniteQuery(appsQuery);
  const apps = useMemo(() => {
    // If an app is added while pages are loaded, the pages shift, so an app may be listed twice.
    const byId = new Map<string, AppListItem>();
    for (const page of query.data?.pages ?? []) for (const app of page.items) byId.set(app.id, app);
    return [...byId.values()];
  }, [query.data]);
  return { query, apps };
}

/**
 * An app by its id: from the loaded pages, otherwise requested. Undefined: not loaded yet, or the person has no access
 * to it.
 */
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

/** An app of the cached library; undefined: not cached. Sends no request. */
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
 * Highlights of the server with their reasons, best first. Apps with a live session are omitted, because the page shows
 * them elsewhere. If an app is not on a loaded page, it is requested by its id. Without an answer the list is empty.
 * @param list the query of the apps; highlighted apps are not requested before it has succeeded
 */
export function useHighlights(
  list: { isSuccess: boolean },
  apps: readonly AppListItem[],
  enabled: boolean,
): {
  /** null: this app is still loading */
  shown: (AppListItem | null)[];
  captions: ReadonlyMap<string, string>;
  isPending: boolean;
} {
  const query = useQuery({ ...highlightsQuery, enabled });
  const items = useMemo(
    () => (query.data?.items ?? []).filter(({ reason }) => reason !== 'live'),
    [query.data],
  );
  const byId = useMemo(() => new Map(apps.map((app) => [app.id, app])), [apps]);
  const missing = useMemo(
    () => (list.isSuccess ? items.map(({ app_id }) => app_id).filter((id) => !byId.has(id)) : []),
    [list.isSuccess, items, byId],
  );
  const read = useQueries({
    queries: missing.map((id) => ({
      queryKey: keys.app(id),
      queryFn: ({ signal }: { signal: AbortSignal }) => call('apps.read', { params: { id }, signal }),
      staleTime: 30_000,
      retry: false,
    })),
    combine: (answers) => answers.map(({ data, isPending }) => (isPending ? null : data?.app)),
  });
  const shown = useMemo(
    () =>
      items.flatMap(({ app_id: id }) => {
        const app = byId.get(id) ?? read[missing.indexOf(id)];
        return app === undefined ? [] : [app];
      }),
    [items, byId, missing, read],
  );
  const captions = useMemo(
    () => new Map(items.map(({ app_id, reason, play_seconds }) => [app_id, captionOf(reason, play_seconds)])),
    [items],
  );
  return { shown, captions, isPending: enabled && query.isPending };
}

/** Short caption for a highlight's reason; an unknown reason has no caption. */
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

/** Sets or removes a favourite. The page shows the change at once, and reverts it if the server refuses. */
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
      // A page that is being loaded would contain the old favourites, so the request is cancelled and repeated.
      await queryClient.cancelQueries({ queryKey: keys.apps });
      show(id, favourite);
    },
    onError: (_error, { id, favourite }) => show(id, !favourite),
  });
}

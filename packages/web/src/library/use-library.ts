import type { AppListItem, Success } from '@footlight/protocol/rest';
import {
  type InfiniteData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { localeTag, plural, t } from '../words/words.ts';

const PAGE = 200;

/** The caller's apps, page by page; `apps` has the loaded ones, each once. */
export function useApps() {
  const query = useInfiniteQuery({
    queryKey: keys.apps,
    queryFn: ({ pageParam, signal }) =>
      call('apps.list', {
        query: { limit: PAGE, ...(pageParam === '' ? {} : { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: (page) => page.next_cursor,
    staleTime: 30_000,
    // The way back from a long session finds the library as it was.
    gcTime: Number.POSITIVE_INFINITY,
  });
  const apps = useMemo(() => {
    // An app added while paging shifts the pages, so one may come twice.
    const byId = new Map<string, AppListItem>();
    for (const page of query.data?.pages ?? []) for (const app of page.items) byId.set(app.id, app);
    return [...byId.values()];
  }, [query.data]);
  return { query, apps };
}

/** An app by its id: of the loaded pages, else asked for; undefined while unknown, or without access to it. */
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
 * loaded pages is omitted until its page is loaded.
 */
export function useHighlights(apps: readonly AppListItem[], enabled: boolean) {
  const query = useQuery({
    queryKey: keys.highlights,
    queryFn: ({ signal }) => call('highlights.list', { signal }),
    staleTime: 30_000,
    enabled,
  });
  return useMemo(() => {
    const byId = new Map(apps.map((app) => [app.id, app]));
    const shown: AppListItem[] = [];
    const captions = new Map<string, string>();
    for (const { app_id, reason, play_seconds } of query.data?.items ?? []) {
      const app = byId.get(app_id);
      if (app === undefined || reason === 'live') continue;
      shown.push(app);
      captions.set(app_id, captionOf(reason, play_seconds));
    }
    return { shown, captions };
  }, [query.data, apps]);
}

/** Short caption of a highlight's reason; unknown reasons have none. */
export function captionOf(reason: string, playSeconds: number): string {
  if (reason === 'most_played') return playedWords(playSeconds);
  if (reason === 'resume') return t('Used before');
  return reason === 'recently_added' ? t('New') : '';
}

function playedWords(seconds: number): string {
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
    onMutate: ({ id, favourite }) => show(id, favourite),
    onError: (_error, { id, favourite }) => show(id, !favourite),
  });
}

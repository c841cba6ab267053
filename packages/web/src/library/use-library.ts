import type { AppListItem, Session } from '@footlight/protocol/rest';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { isOver } from '../api/session-events.ts';

const PAGE = 200;
const RECENT = 12;

/** Apps of the caller, page by page; `apps` holds what has come so far, each once. */
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
  });
  const apps = useMemo(() => {
    // An app that was added while paging shifts the pages, so one may come twice.
    const byId = new Map<string, AppListItem>();
    for (const page of query.data?.pages ?? []) for (const app of page.items) byId.set(app.id, app);
    return [...byId.values()];
  }, [query.data]);
  return { query, apps };
}

/** The caller's sessions, the live ones apart. */
export function useOwnSessions() {
  const query = useQuery({
    queryKey: keys.sessions,
    queryFn: ({ signal }) => call('sessions.list', { query: { limit: 50 }, signal }),
    refetchInterval: 10_000,
  });
  const items = query.data?.items ?? [];
  return { query, live: items.filter((session) => !isOver(session)), all: items };
}

/** The apps used last, most recent first, each once and only those still in the library. */
export function recentApps(sessions: readonly Session[], apps: readonly AppListItem[]): AppListItem[] {
  const byId = new Map(apps.map((app) => [app.id, app]));
  const recent = new Map<string, AppListItem>();
  for (const session of sessions) {
    const app = byId.get(session.app_id);
    if (app !== undefined) recent.set(app.id, app);
    if (recent.size >= RECENT) break;
  }
  return [...recent.values()];
}

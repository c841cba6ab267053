import type { Session } from '@footlight/protocol/rest';
import { isTerminal } from '@footlight/protocol/session-states';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';

const REFRESH_MS = 10_000;

export const ownSessionsQuery = queryOptions({
  queryKey: keys.sessions,
  queryFn: ({ signal }) => call('sessions.list', { query: { limit: 50 }, signal }),
  refetchInterval: REFRESH_MS,
});

/** The caller's sessions, newest first; live sessions also separately. */
export function useOwnSessions() {
  const query = useQuery(ownSessionsQuery);
  const items = query.data?.items ?? [];
  return { query, live: items.filter((session) => !isTerminal(session.state)), all: items };
}

/** Ends one session of the caller. */
export function useEndSession(onEnded: () => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => call('sessions.delete', { params: { id } }),
    onSuccess: () => {
      onEnded();
      return queryClient.invalidateQueries({ queryKey: keys.sessions });
    },
  });
}

/** Whether a page can show the session; a `local_only` session is not streamed. */
export function isStreamed({ video_topology }: Session): boolean {
  return video_topology !== 'local_only';
}

import type { Session } from '@footlight/protocol/rest';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { ApiFailure, call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { followSession, isOver } from '../api/session-events.ts';
import { advance, type LaunchProgress, NOTHING_SEEN } from '../launch/launch-steps.ts';

/** One session with live updates and its launch progress. */
export function useSession(id: string) {
  const queryClient = useQueryClient();
  const [progress, setProgress] = useState<LaunchProgress>(NOTHING_SEEN);
  const [refused, setRefused] = useState<ApiFailure | null>(null);
  const query = useQuery({
    queryKey: keys.session(id),
    queryFn: ({ signal }) => call('sessions.read', { params: { id }, signal }),
    // The event stream keeps the record up to date.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const session: Session | undefined = query.data?.session;
  const follow = session !== undefined && !isOver(session);

  useEffect(() => {
    if (!follow) return;
    const abort = new AbortController();
    followSession(id, {
      signal: abort.signal,
      onLink: () => {},
      onSession: (next) => {
        queryClient.setQueryData(keys.session(id), { session: next });
        setProgress((before) => advance(before, next));
        if (isOver(next)) void queryClient.invalidateQueries({ queryKey: keys.sessions });
      },
    }).catch((error: unknown) => {
      if (error instanceof ApiFailure) setRefused(error);
    });
    return () => abort.abort();
  }, [id, follow, queryClient]);

  return { query, session, progress, refused };
}

import type { Session } from '@footlight/protocol/rest';
import { isTerminal } from '@footlight/protocol/session-states';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { ApiFailure, call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { followSession } from '../api/session-events.ts';
import { advance, type LaunchProgress, NO_PROGRESS } from '../launch/launch-steps.ts';

/** One session with live updates and its launch progress. */
export function useSession(id: string) {
  const queryClient = useQueryClient();
  const [progress, setProgress] = useState<LaunchProgress>(NO_PROGRESS);
  const [refused, setRefused] = useState<ApiFailure | null>(null);
  const query = useQuery({
    queryKey: keys.session(id),
    queryFn: ({ signal }) => call('sessions.read', { params: { id }, signal }),
    // The event stream keeps the record up to date.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const session: Session | undefined = query.data?.session;
  const follow = session !== undefined && !isTerminal(session.state);

  useEffect(() => {
    if (!follow) return;
    const abort = new AbortController();
    followSession(id, {
      signal: abort.signal,
      onLink: () => {},
      onSession: (next) => {
        queryClient.setQueryData(keys.session(id), { session: next });
        setProgress((before) => advance(before, next));
        if (isTerminal(next.state)) void queryClient.invalidateQueries({ queryKey: keys.sessions });
      },
    }).catch((error: unknown) => {
      if (error instanceof ApiFailure) setRefused(error);
    });
    return () => abort.abort();
  }, [id, follow, queryClient]);

  return { query, session, progress, refused };
}

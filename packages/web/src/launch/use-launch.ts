import type { AppListItem } from '@footlight/protocol/rest';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { dialEarly } from './early-socket.ts';
import { keepTicket } from './first-ticket.ts';
import { loadPlayer, usePreloadSession } from './player.ts';

/** An app to launch. */
export type LaunchedApp = Pick<AppListItem, 'id' | 'name'> & {
  /** Launch profile that the person chose for this launch; absent: no choice. */
  profileId?: string;
};

/** Launches an app: requests a session, then opens its page with the data from the answer. */
function useLaunch() {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const preloadSession = usePreloadSession();
  return useMutation({
    // Preloads the session page while the launch request is in progress.
    onMutate: preloadSession,
    mutationFn: ({ id, profileId }: LaunchedApp) =>
      // Requests a microphone for the session, which the person may turn on later. The instance decides whether the
      // session gets one, and no sound is sent before the person turns it on.
      call('sessions.launch', {
        body: { app_id: id, mic: true, ...(profileId === undefined ? {} : { profile_id: profileId }) },
      }),
    onSuccess: ({ session, signaling }) => {
      keepTicket(session.id, signaling);
      void loadPlayer().then(
        ({ signalingUrl }) => dialEarly(signalingUrl(signaling, document.baseURI)),
        // Ignored here, because the session page loads the player again and reports this error.
        () => {},
      );
      queryClient.setQueryData(keys.session(session.id), { session });
      // Only marks the sessions as stale. They are requested when the library is shown again, because every request
      // before the picture delays the picture.
      void queryClient.invalidateQueries({ queryKey: keys.sessions, refetchType: 'none' });
      void navigate({ to: '/app/session/$id', params: { id: session.id } });
    },
  });
}

/**
 * Launches apps and keeps a refusal on the page while the launch is retried. `refused` is the error of the last
 * attempt, or null; `retry` repeats the last launch.
 */
export function useRepeatedLaunch() {
  const launch = useLaunch();
  const [waitedFor, setWaitedFor] = useState<unknown>(null);
  const refused = launch.isError ? launch.error : launch.isPending ? waitedFor : null;
  return {
    launch,
    refused,
    start: (app: LaunchedApp) => {
      setWaitedFor(null);
      launch.mutate(app);
    },
    retry: () => {
      if (launch.variables === undefined) return;
      setWaitedFor(refused);
      launch.mutate(launch.variables);
    },
  };
}

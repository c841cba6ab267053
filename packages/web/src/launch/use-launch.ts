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
  /** Launch profile that the person chose for this launch; absent: no preference. */
  profileId?: string;
};

/** Launches an app: requests a session, then opens its page with the data of the answer. */
function useLaunch() {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const preloadSession = usePreloadSession();
  return useMutation({
    // Loaded while the launch request is in progress.
    onMutate: preloadSession,
    mutationFn: ({ id, profileId }: LaunchedApp) =>
      // Requests a session with a microphone, which the person may turn on later. The instance decides, and no sound is
      // sent before.
      call('sessions.launch', {
        body: { app_id: id, mic: true, ...(profileId === undefined ? {} : { profile_id: profileId }) },
      }),
    onSuccess: ({ session, signaling }) => {
      keepTicket(session.id, signaling);
      void loadPlayer().then(
        ({ signalingUrl }) => dialEarly(signalingUrl(signaling, document.baseURI)),
        // The session page reports this error; it needs the same answer.
        () => {},
      );
      queryClient.setQueryData(keys.session(session.id), { session });
      // Marked stale only: it is requested when the library is shown again, because until the picture is shown every
      // request delays it.
      void queryClient.invalidateQueries({ queryKey: keys.sessions, refetchType: 'none' });
      void navigate({ to: '/app/session/$id', params: { id: session.id } });
    },
  });
}

/**
 * Launching with refusals that stay on the page while the launch is retried. `refused` is the error of the last
 * attempt, null without one; `retry` repeats the last launch.
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

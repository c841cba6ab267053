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
  /** Launch profile that the person chose for this launch; absent: as usual. */
  profileId?: string;
};

/** Launching an app: asks for a session, then opens its page with everything the answer already told. */
function useLaunch() {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const preloadSession = usePreloadSession();
  return useMutation({
    // Loads while the launch is on its way.
    onMutate: preloadSession,
    mutationFn: ({ id, profileId }: LaunchedApp) =>
      // Asks that it may be turned on later, in the session; the instance decides, and nothing is heard before.
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
      // Asked again when the library is next shown: until the picture is there, every request delays it.
      void queryClient.invalidateQueries({ queryKey: keys.sessions, refetchType: 'none' });
      void navigate({ to: '/app/session/$id', params: { id: session.id } });
    },
  });
}

/**
 * Launching with refusals that stay on the page while the launch is tried again.
 * `refused` is the error of the last try, null without one; `retry` repeats the last launch.
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

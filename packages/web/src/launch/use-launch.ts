import type { AppListItem } from '@footlight/protocol/rest';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
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

/**
 * Launches an app: requests a session, then opens its page with the data from the answer.
 * @param isCancelled whether the person has cancelled a launch; its session is then ended instead
 */
function useLaunch(isCancelled: (app: LaunchedApp) => boolean) {
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
    onSuccess: ({ session, signaling }, app) => {
      if (isCancelled(app)) {
        void call('sessions.delete', { params: { id: session.id } })
          // The library then lists the session, and the person can end it there.
          .catch(() => {})
          .finally(() => void queryClient.invalidateQueries({ queryKey: keys.sessions }));
        return;
      }
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
 * attempt, or null; `retry` repeats the last launch; `cancel` abandons the launch, even if its answer comes later.
 */
export function useRepeatedLaunch() {
  const cancelled = useRef(new WeakSet<LaunchedApp>());
  const launch = useLaunch((app) => cancelled.current.has(app));
  const [waitedFor, setWaitedFor] = useState<unknown>(null);
  const refused = launch.isError ? launch.error : launch.isPending ? waitedFor : null;
  return {
    launch,
    refused,
    start: (app: LaunchedApp) => {
      setWaitedFor(null);
      // A copy, because a later launch of the same app is not cancelled.
      launch.mutate({ ...app });
    },
    cancel: () => {
      if (launch.variables !== undefined) cancelled.current.add(launch.variables);
      setWaitedFor(null);
      launch.reset();
    },
    retry: () => {
      if (launch.variables === undefined) return;
      setWaitedFor(refused);
      launch.mutate(launch.variables);
    },
  };
}

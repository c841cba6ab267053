import type { AppListItem } from '@footlight/protocol/rest';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { dialEarly } from './early-socket.ts';
import { keepTicket } from './first-ticket.ts';
import { loadPlayer, usePreloadSession } from './player.ts';

/** Launching an app: asks for a session, then opens its page with everything the answer already told. */
export function useLaunch() {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const preloadSession = usePreloadSession();
  return useMutation({
    // Loads while the launch is on its way.
    onMutate: preloadSession,
    mutationFn: (app: Pick<AppListItem, 'id' | 'name'>) =>
      // Asks that it may be turned on later, in the session; the instance decides, and nothing is heard before.
      call('sessions.launch', { body: { app_id: app.id, mic: true } }),
    onSuccess: ({ session, signaling }) => {
      keepTicket(session.id, signaling);
      void loadPlayer().then(
        ({ signalingUrl }) => dialEarly(signalingUrl(signaling, document.baseURI)),
        // Told by the session page, which needs it as well.
        () => {},
      );
      queryClient.setQueryData(keys.session(session.id), { session });
      // Asked again when the library is next shown: until the picture is there, every request delays it.
      void queryClient.invalidateQueries({ queryKey: keys.sessions, refetchType: 'none' });
      void navigate({ to: '/app/session/$id', params: { id: session.id } });
    },
  });
}

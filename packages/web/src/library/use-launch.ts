import type { AppListItem } from '@footlight/protocol/rest';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { keepTicket } from '../session/first-ticket.ts';
import { usePreloadSession } from '../session/player.ts';

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
      queryClient.setQueryData(keys.session(session.id), { session });
      void queryClient.invalidateQueries({ queryKey: keys.sessions });
      void navigate({ to: '/app/session/$id', params: { id: session.id } });
    },
  });
}

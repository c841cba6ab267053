import { useMutation } from '@tanstack/react-query';
import { call } from '../../api/client.ts';

/** Launches an app from the administrators' pages. The session page is in another document, that of the users. */
export const useLaunchNow = () =>
  useMutation({
    mutationFn: (appId: string) => call('sessions.launch', { body: { app_id: appId, mic: true } }),
    onSuccess: ({ session }) => window.location.assign(`/app/session/${session.id}`),
  });

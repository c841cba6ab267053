import { useMutation, useQueryClient } from '@tanstack/react-query';
import { deviceKey } from '../api/auth-store.ts';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { clock } from '../clock.ts';
import { keepPicture } from './last-picture.ts';
import { loadPlayer } from './player.ts';

/** Time limit: a viewer connects within a few seconds or not at all. Chosen, not measured. */
const CONNECT_LIMIT_MS = 15_000;

/**
 * Extends the time of a session that has no viewer. The page connects as a viewer for a moment, which restarts the
 * host's idle time-out, because only viewers count. The received picture is stored for the session's card.
 */
export function useKeepOpen(sessionId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: () => watchOnce(sessionId),
    onSettled: () => queryClient.invalidateQueries({ queryKey: keys.sessions }),
  });
}

async function watchOnce(id: string): Promise<void> {
  const { createStreamClient } = await loadPlayer();
  const video = document.createElement('video');
  video.muted = true;
  await new Promise<void>((resolve, reject) => {
    const client = createStreamClient({
      video,
      surface: document.createElement('div'),
      client: { name: 'web', version: '1' },
      device_key: deviceKey(),
      connectSignaling: async () => (await call('sessions.signalingToken', { params: { id } })).signaling,
      // Posts no measurements, because this short connection is not real use.
      sendTelemetry: () => Promise.resolve(),
      onState: (state) => {
        if (state.kind === 'live') finish(null);
        if (state.kind === 'ended') finish(new Error(`the session ended: ${state.reason}`));
      },
    });
    const limit = clock.setTimeout(() => finish(new Error('no picture came')), CONNECT_LIMIT_MS);
    const finish = (error: Error | null) => {
      limit.cancel();
      if (error === null) keepPicture(id, video);
      client.dispose();
      if (error === null) resolve();
      else reject(error);
    };
    client.connect();
  });
}

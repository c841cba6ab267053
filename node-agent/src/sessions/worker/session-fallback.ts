import type { MediaFallback } from '../../media/fallback/media-fallback.ts';
import type { MediaWorker } from '../../media/worker/worker-pool.ts';

/** Connections of one worker: two of the owner, and two of each guest. The worker is not trusted. */
const MAX_CONNECTIONS = 64;

/** Registers a worker's WebRTC connections with the fallback port, until each ends or the worker has exited. */
export function followFallback(
  worker: Pick<MediaWorker, 'on' | 'exited'>,
  fallback: Pick<MediaFallback, 'register'>,
): void {
  const open = new Map<string, () => void>();
  worker.on('fallback_open', ({ pc_id, ufrag, pwd, port }) => {
    if (open.has(pc_id) || open.size >= MAX_CONNECTIONS) return;
    const withdraw = fallback.register({ ufrag, pwd, port });
    if (withdraw !== null) open.set(pc_id, withdraw);
  });
  worker.on('fallback_close', ({ pc_id }) => {
    open.get(pc_id)?.();
    open.delete(pc_id);
  });
  void worker.exited.then(() => {
    for (const withdraw of open.values()) withdraw();
    open.clear();
  });
}

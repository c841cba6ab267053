import { useRouter } from '@tanstack/react-router';
import { useCallback } from 'react';

/** The player's module. */
export type Player = typeof import('@footlight/stream-client');

/** Loads the player. It is a separate file, so that the launch screen does not wait for it. */
export function loadPlayer(): Promise<Player> {
  return import('@footlight/stream-client');
}

/**
 * Preloads the session page and its player, for pages that launch apps. If the preload fails, the player is loaded
 * again when it is needed, and that attempt reports its error.
 */
export function usePreloadSession(): () => void {
  const router = useRouter();
  return useCallback(() => {
    void loadPlayer().catch(() => {});
    void router.loadRouteChunk(router.routesByPath['/app/session/$id'])?.catch(() => {});
  }, [router]);
}

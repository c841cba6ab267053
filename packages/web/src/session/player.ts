import { useRouter } from '@tanstack/react-router';
import { useCallback } from 'react';

/** The player's module. */
export type Player = typeof import('@footlight/stream-client');

/** Loads the player. It is a file of its own, so that the launch screen does not wait for it. */
export function loadPlayer(): Promise<Player> {
  return import('@footlight/stream-client');
}

/**
 * For pages from which people launch: loads the session page and its player before they are needed. What fails is
 * loaded again, and its failure told, when they are.
 */
export function usePreloadSession(): () => void {
  const router = useRouter();
  return useCallback(() => {
    void loadPlayer().catch(() => {});
    void router.loadRouteChunk(router.routesByPath['/app/session/$id'])?.catch(() => {});
  }, [router]);
}

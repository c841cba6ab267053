/** The player's module. */
export type Player = typeof import('@footlight/stream-client');

/**
 * Loads the player. It is a file of its own, so that the launch screen does not wait for it, and pages from which
 * people launch can ask for it before it is needed.
 */
export function loadPlayer(): Promise<Player> {
  return import('@footlight/stream-client');
}

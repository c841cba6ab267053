import type { Session } from '@footlight/protocol/rest';

/**
 * Sessions to tell about: ended by the idle time-out, not told yet, and not followed by a newer session of the app, in
 * which the person has seen it. Pure.
 * @param sessions newest first
 */
export function idleEnded(sessions: readonly Session[], seen: readonly string[]): Session[] {
  const later = new Set<string>();
  return sessions.filter((session) => {
    const isNewest = !later.has(session.app_id);
    later.add(session.app_id);
    return isNewest && session.end_reason === 'idle_timeout' && !seen.includes(session.id);
  });
}

import type { Session } from '@footlight/protocol/rest';

/**
 * Sessions to show: ended by the idle time-out, not dismissed, and without a newer session of the same app. Pure.
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

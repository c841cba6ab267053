import styles from '../frame/admin-pages.module.css';
import { MAX_LIVE_SESSIONS, type useActiveSessions } from './use-fleet.ts';

/** Says that a page shows only a part of the live sessions; empty if the page shows all. */
export function LiveSessionLimit({ sessions }: { sessions: ReturnType<typeof useActiveSessions> }) {
  if (sessions.data?.next_cursor == null) return null;
  return (
    <p className={styles.dim}>
      This page reads only the newest {MAX_LIVE_SESSIONS} live sessions of the fleet; older ones are missing
      here.
    </p>
  );
}

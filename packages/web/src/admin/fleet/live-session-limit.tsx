import { t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { MAX_LIVE_SESSIONS, type useActiveSessions } from './use-fleet.ts';

/** Says that a page shows only a part of the live sessions; empty if the page shows all. */
export function LiveSessionLimit({ sessions }: { sessions: ReturnType<typeof useActiveSessions> }) {
  if (sessions.data?.next_cursor == null) return null;
  return (
    <p className={styles.dim}>
      {t('This page reads only the newest {n} live sessions of the fleet; older ones are missing here.', {
        n: MAX_LIVE_SESSIONS,
      })}
    </p>
  );
}

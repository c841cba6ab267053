import { t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import type { useLiveSessions } from './use-fleet.ts';

/** Says that a page shows only a part of the live sessions; empty if the page shows all. */
export function LiveSessionLimit({ sessions }: { sessions: ReturnType<typeof useLiveSessions> }) {
  if (sessions.data?.next_cursor == null) return null;
  return (
    <p className={styles.dim}>
      {t('This page shows only the newest {n} live sessions.', {
        n: sessions.data.items.length,
      })}
    </p>
  );
}

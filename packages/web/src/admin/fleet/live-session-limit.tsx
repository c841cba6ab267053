import { plural } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import type { useLiveSessions } from './use-fleet.ts';

/** Says that a page shows only a part of the live sessions; empty if the page shows all. */
export function LiveSessionLimit({ sessions }: { sessions: ReturnType<typeof useLiveSessions> }) {
  const { data } = sessions;
  if (data?.next_cursor == null || data.total === undefined) return null;
  return (
    <p className={styles.dim}>
      {plural(
        data.total,
        'This page shows only the newest {shown} of {n} live session.',
        'This page shows only the newest {shown} of {n} live sessions.',
        { shown: data.items.length },
      )}
    </p>
  );
}

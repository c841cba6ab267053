import { t } from '../../i18n/translate.ts';
import styles from '../session.module.css';

/**
 * Shows, as long as the flight recorder is on, that it keeps the last minute of this session. A press explains what
 * that means. Neither the bar nor full screen hides it.
 */
export function RecordingMark() {
  return (
    <details className={styles.recordMark} data-stream-overlay="">
      <summary>{t('The last minute is recorded')}</summary>
      {t('Administrators can save it for a day.')}
    </details>
  );
}

import { t } from '../../i18n/translate.ts';
import styles from '../session.module.css';

/**
 * Shows that the flight recorder keeps the last minute of this session. A press explains the recording. The mark stays
 * visible without the bar and in full screen.
 */
export function RecordingMark() {
  return (
    <details className={styles.recordMark} data-stream-overlay="">
      <summary>{t('The last minute is recorded')}</summary>
      {t('Administrators can save it for a day.')}
    </details>
  );
}

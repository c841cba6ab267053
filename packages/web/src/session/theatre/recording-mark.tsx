import { t } from '../../i18n/translate.ts';
import styles from '../session.module.css';

/**
 * Says that the flight recorder keeps the last minute of this session; shown as long as it does. Its words open what
 * that means for the person. Neither the bar nor full screen hides it.
 */
export function RecordingMark() {
  return (
    <details className={styles.recordMark} data-stream-overlay="">
      <summary>{t('The last minute is recorded')}</summary>
      {t('Administrators can keep it for a day.')}
    </details>
  );
}

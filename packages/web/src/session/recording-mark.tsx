import styles from './session.module.css';

/**
 * Says that the flight recorder keeps the last minute of this session; shown as long as it does. Its words open what
 * that means for the person. The bar and full screen leave it where it is.
 */
export function RecordingMark() {
  return (
    <details className={styles.recordMark} data-stream-overlay="">
      <summary>
        <span className={styles.recordDot} aria-hidden="true" />
        The last minute is recorded
      </summary>
      <p>
        When something goes wrong, an administrator can keep the last 60 seconds of picture and sound of this
        session, and watch them for a day. Older moments, your keyboard, your pointer and your microphone are
        not recorded.
      </p>
    </details>
  );
}

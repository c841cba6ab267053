import { ActionIcon } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { clock } from '../clock.ts';
import { t } from '../i18n/translate.ts';
import styles from './components.module.css';

/** Time for which "Copied" is shown, long enough to read one word. */
const SHOWN_MS = 2000;

/**
 * A value or command with a button that copies it.
 * @param props.label names the value for screen readers
 * @param props.whole shows the full value on several lines, so that a person can compare it with another value
 */
export function CopyLine({ value, label, whole = false }: { value: string; label: string; whole?: boolean }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = clock.setTimeout(() => setCopied(false), SHOWN_MS);
    return () => timer.cancel();
  }, [copied]);
  const copy = async () => {
    await navigator.clipboard?.writeText(value).then(
      () => setCopied(true),
      () => {},
    );
  };
  return (
    <div className={styles.copyLine}>
      {whole ? (
        <output className={`${styles.copyValue} ${styles.copyWhole}`} aria-label={label}>
          {value}
        </output>
      ) : (
        <input className={styles.copyValue} readOnly value={value} title={value} aria-label={label} />
      )}
      <ActionIcon size={32} onClick={copy} aria-label={t('Copy {what}', { what: label })}>
        {copied ? <IconCheck size={18} /> : <IconCopy size={18} />}
      </ActionIcon>
      <span className="visually-hidden" role="status">
        {copied ? t('Copied') : ''}
      </span>
    </div>
  );
}

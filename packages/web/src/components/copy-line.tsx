import { ActionIcon } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { clock } from '../clock.ts';
import styles from './components.module.css';

/** Long enough to be read: one word. */
const SHOWN_MS = 2000;

/** A value or command with a button that copies it. @param label names the value for screen readers */
export function CopyLine({ value, label }: { value: string; label: string }) {
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
      <input className={styles.copyValue} readOnly value={value} title={value} aria-label={label} />
      <ActionIcon size={32} onClick={copy} aria-label={`Copy ${label}`}>
        {copied ? <IconCheck size={18} /> : <IconCopy size={18} />}
      </ActionIcon>
      <span className="visually-hidden" role="status">
        {copied ? 'Copied' : ''}
      </span>
    </div>
  );
}

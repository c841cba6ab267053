import { Button } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { errorText } from '../api/error-text.ts';
import { t } from '../i18n/translate.ts';
import styles from './components.module.css';
import { TechnicalDetails } from './technical-details.tsx';

/** An error at its place in the page: event, advice, code. Screen readers announce it. */
export function Problem(props: { error: unknown; retry?: () => void; action?: ReactNode }) {
  const text = errorText(props.error);
  return (
    <div className={styles.problem} role="alert">
      <IconAlertTriangle size={20} aria-hidden="true" />
      <div className={styles.problemText}>
        <p className={styles.problemTitle} style={{ color: 'var(--fl-text)' }}>
          {text.title}
        </p>
        <p>{text.advice}</p>
        <TechnicalDetails code={text.code} />
      </div>
      {props.action ??
        (props.retry && (
          <Button size="xs" onClick={props.retry}>
            {t('Try again')}
          </Button>
        ))}
    </div>
  );
}

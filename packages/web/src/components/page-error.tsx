import { Button } from '@mantine/core';
import type { ErrorComponentProps } from '@tanstack/react-router';
import { useEffect } from 'react';
import { errorText } from '../api/error-text.ts';
import { awaitPad } from '../focus/await-pad.ts';
import { t } from '../i18n/translate.ts';
import styles from './components.module.css';
import { TechnicalDetails } from './technical-details.tsx';

/** Shown in place of a page that failed to render. */
export function PageError({ error, reset }: ErrorComponentProps) {
  const text = errorText(error);
  useEffect(() => awaitPad(() => window.location.assign('/app')), []);
  return (
    <main className={styles.fullPage}>
      <div className={styles.fullPageAlert} role="alert">
        <h1>{text.title}</h1>
        <p>{text.advice}</p>
        <TechnicalDetails code={text.code} />
      </div>
      <div className={styles.fullPageActions}>
        <Button variant="filled" onClick={reset}>
          {t('Try again')}
        </Button>
        <Button component="a" href="/app">
          {t('Go to your library')}
        </Button>
      </div>
    </main>
  );
}

import { Button } from '@mantine/core';
import { useEffect } from 'react';
import { awaitPad } from '../focus/await-pad.ts';
import { t } from '../i18n/translate.ts';
import styles from './components.module.css';
import { usePageTitle } from './use-page-title.ts';

/** The page of an unknown address. */
export function NotFoundPage() {
  usePageTitle(t('Nothing here'));
  useEffect(() => awaitPad(() => window.location.assign('/app')), []);
  return (
    <main className={styles.fullPage}>
      <div className={styles.numeral} aria-hidden="true">
        404
      </div>
      <h1>{t('Page not found')}</h1>
      <p>{t('Check the address for typing errors. The page may also have been removed.')}</p>
      <div className={styles.fullPageActions}>
        <Button component="a" href="/app" variant="filled">
          {t('Go to your library')}
        </Button>
      </div>
    </main>
  );
}

import { t } from '../i18n/translate.ts';
import styles from './components.module.css';

/** The code of an error, for administrators and bug reports; collapsed, because it means nothing to most people. */
export function TechnicalDetails({ code }: { code: string }) {
  return (
    <details className={styles.technical}>
      <summary>{t('Technical details')}</summary>
      <code>{code}</code>
    </details>
  );
}

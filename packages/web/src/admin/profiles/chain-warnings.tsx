import type { ChainWarning } from '@footlight/protocol/rest';
import { IconAlertTriangle } from '@tabler/icons-react';
import { t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { warningLabel } from './profile-labels.ts';

/** Warnings about the stored chain. */
export function ChainWarnings({ warnings }: { warnings: readonly ChainWarning[] }) {
  if (warnings.length === 0) return null;
  return (
    <ul className={styles.findings}>
      {warnings.map((warning) => (
        <li key={warning.message} className={styles.finding} data-tone="warning">
          <IconAlertTriangle size={20} aria-label={t('Warning')} />
          <div className={styles.findingText}>
            <p className={styles.findingTitle}>{warningLabel(warning)}</p>
            <p>{warning.message}</p>
          </div>
        </li>
      ))}
    </ul>
  );
}

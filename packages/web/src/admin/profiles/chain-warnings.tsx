import type { ChainWarning } from '@footlight/protocol/rest';
import { IconAlertTriangle, IconInfoCircle } from '@tabler/icons-react';
import { saidByServer } from '../../api/server-sentences.ts';
import { t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { CHAIN_SENTENCES, isFault, warningLabel } from './profile-labels.ts';

/** Warnings about the stored chain. */
export function ChainWarnings({ warnings }: { warnings: readonly ChainWarning[] }) {
  if (warnings.length === 0) return null;
  return (
    <ul className={styles.findings}>
      {warnings.map((warning) => (
        <li
          key={warning.message}
          className={styles.finding}
          data-tone={isFault(warning) ? 'warning' : 'info'}
        >
          {isFault(warning) ? (
            <IconAlertTriangle size={20} aria-label={t('Warning')} />
          ) : (
            <IconInfoCircle size={20} aria-label={t('For information')} />
          )}
          <div className={styles.findingText}>
            <p className={styles.findingTitle}>{warningLabel(warning)}</p>
            <p>{saidByServer(warning.message, CHAIN_SENTENCES)}</p>
          </div>
        </li>
      ))}
    </ul>
  );
}

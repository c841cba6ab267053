import { Button } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck, IconInfoCircle } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { Remedies } from '../frame/remedies.tsx';
import type { Finding } from './findings.ts';

/** Findings with their remedies, or a text when there are none. */
export function FindingList({ findings }: { findings: readonly Finding[] }) {
  if (findings.length === 0) {
    return (
      <div className={styles.finding} data-tone="success">
        <IconCircleCheck size={20} aria-hidden="true" />
        <p className={styles.findingText}>
          {t('Every host is online and its checks pass, and no job fails.')}
        </p>
      </div>
    );
  }
  return (
    <ul className={styles.findings}>
      {findings.map((finding) => (
        <li key={finding.key} className={styles.finding} data-tone={finding.tone}>
          {finding.tone === 'info' ? (
            <IconInfoCircle size={20} aria-label={t('For information')} />
          ) : (
            <IconAlertTriangle
              size={20}
              aria-label={finding.tone === 'danger' ? t('Problem') : t('Warning')}
            />
          )}
          <div className={styles.findingText}>
            <p className={styles.findingTitle}>{finding.title}</p>
            <p>{finding.text}</p>
            <Remedies lines={finding.remediation} label={t('remedy')} />
          </div>
          {finding.link !== undefined && <OpenButton link={finding.link} />}
          {finding.hostId !== null && (
            <Button
              size="xs"
              variant="subtle"
              renderRoot={(props) => (
                <Link to="/admin/hosts/$id" params={{ id: finding.hostId ?? '' }} {...props} />
              )}
            >
              {t('Open host')}
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}

function OpenButton({ link }: { link: NonNullable<Finding['link']> }) {
  return (
    <Button
      size="xs"
      variant="subtle"
      renderRoot={(props) =>
        link.to === '/admin/backups' ? (
          <Link to={link.to} {...props} />
        ) : (
          <Link to={link.to} params={{ id: link.id }} {...props} />
        )
      }
    >
      {link.label}
    </Button>
  );
}

import { Button } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { CopyLine } from '../../components/copy-line.tsx';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { msg, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { findingsOf } from './access-findings.ts';

const COPIED: Record<string, string> = {
  certificate: msg('certificate fingerprint'),
  proxy: msg('line of the environment'),
};

/** Labels above values to copy. */
const LABELS: Record<string, string> = {
  certificate: msg('Its SHA-256 fingerprint. If a browser warns, it must show the same one:'),
  proxy: msg('For the environment of this server:'),
};

/** First step: shows how this browser reached the server, and the consequences. */
export function AccessStep() {
  const check = useQuery({
    queryKey: adminKeys.accessCheck,
    queryFn: ({ signal }) => call('access.check', { signal }),
    staleTime: 0,
  });
  if (check.isError) return <Problem error={check.error} retry={() => void check.refetch()} />;
  if (check.data === undefined) return <Skeleton height={240} radius={14} />;
  return (
    <div className={styles.stack}>
      <ul className={styles.findings}>
        {findingsOf(check.data).map((verdict) => (
          <li key={verdict.key} className={styles.finding} data-tone={verdict.good ? 'success' : 'warning'}>
            {verdict.good ? (
              <IconCircleCheck size={20} aria-label={t('Good')} />
            ) : (
              <IconAlertTriangle size={20} aria-label={t('Worth a look')} />
            )}
            <div className={styles.findingText}>
              <p className={styles.findingTitle}>{verdict.title}</p>
              <p>{verdict.text}</p>
              {verdict.copy !== undefined && (
                <>
                  <p>{t(LABELS[verdict.key] ?? msg('The entry for the list of allowed origins:'))}</p>
                  <CopyLine
                    value={verdict.copy}
                    label={t(COPIED[verdict.key] ?? msg('origin'))}
                    whole={verdict.key === 'certificate'}
                  />
                </>
              )}
            </div>
          </li>
        ))}
      </ul>
      <div className={styles.actions}>
        <Button size="xs" loading={check.isFetching} onClick={() => void check.refetch()}>
          {t('Check again')}
        </Button>
        {check.data.certificate.info !== undefined && (
          <Button size="xs" component="a" href="/v1/tls/certificate.pem" download>
            {t('Download the certificate')}
          </Button>
        )}
      </div>
    </div>
  );
}

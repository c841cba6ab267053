import { Button } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { CopyLine } from '../../components/copy-line.tsx';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { findingsOf } from './access-findings.ts';

const COPIED: Record<string, string> = {
  certificate: 'certificate fingerprint',
  proxy: 'line of the environment',
};

/** Labels above values to copy. */
const LABELS: Record<string, string> = {
  certificate: 'Its SHA-256 fingerprint. If a browser warns, it must show the same one:',
  proxy: 'For the environment of this server:',
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
              <IconCircleCheck size={20} aria-label="Good" />
            ) : (
              <IconAlertTriangle size={20} aria-label="Worth a look" />
            )}
            <div className={styles.findingText}>
              <p className={styles.findingTitle}>{verdict.title}</p>
              <p>{verdict.text}</p>
              {verdict.copy !== undefined && (
                <>
                  <p>{LABELS[verdict.key] ?? 'The entry for the list of allowed origins:'}</p>
                  <CopyLine
                    value={verdict.copy}
                    label={COPIED[verdict.key] ?? 'origin'}
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
          Check again
        </Button>
        {check.data.certificate.info !== undefined && (
          <Button size="xs" component="a" href="/v1/tls/certificate.pem" download>
            Download the certificate
          </Button>
        )}
      </div>
    </div>
  );
}

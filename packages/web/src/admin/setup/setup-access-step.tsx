import type { AccessCheck } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { CopyLine } from '../../components/copy-line.tsx';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import styles from '../frame/admin-parts.module.css';

interface Verdict {
  key: string;
  good: boolean;
  title: string;
  text: string;
  copy?: string;
}

const COPIED: Record<string, string> = {
  certificate: 'certificate fingerprint',
  proxy: 'line of the environment',
};

const copyOf = (copy: string | undefined): Pick<Verdict, 'copy'> => (copy === undefined ? {} : { copy });

/** What the access check means for people who connect the same way. Pure. */
export function verdictsOf(check: AccessCheck): Verdict[] {
  const { request, certificate, origins } = check;
  const address = `${request.scheme}://${request.host}`;
  return [
    {
      key: 'secure',
      good: request.secure_context,
      title: request.secure_context ? 'The connection is secure' : 'The connection is not secure',
      text: request.secure_context
        ? `You opened ${address}. Browsers allow sound, full screen and the clipboard here.`
        : 'Browsers withhold the clipboard, the keyboard lock and the microphone on such an address. Use https.',
    },
    ...(request.advice === undefined
      ? []
      : [
          {
            key: 'proxy',
            good: false,
            title: 'A proxy that is not trusted is in front',
            text: request.advice,
            ...copyOf(/SERVICE_TRUSTED_PROXIES=\S+/.exec(request.advice)?.[0]),
          },
        ]),
    {
      key: 'certificate',
      good: certificate.advice === undefined,
      title: certificate.in_use
        ? certificate.advice === undefined
          ? 'The certificate fits'
          : 'Check the certificate'
        : 'A proxy in front of this server holds the certificate',
      text:
        certificate.advice ??
        certificate.not_in_use_reason ??
        `It is valid for another ${certificate.info?.days_until_expiry ?? 0} days.`,
      ...copyOf(certificate.info?.fingerprint_sha256),
    },
    {
      key: 'origin',
      good: origins.request_origin_allowed !== false,
      title:
        origins.request_origin_allowed === false
          ? 'This address may not open sessions'
          : 'This address may open sessions',
      text:
        origins.advice ??
        (origins.same_origin_exemption
          ? 'It is the server’s own address, which is always allowed.'
          : 'It is in the list of allowed origins.'),
      ...copyOf(origins.suggested_entry),
    },
  ];
}

/** First step: how this browser reached the server, with consequences. */
export function AccessStep() {
  const check = useQuery({
    queryKey: keys.accessCheck,
    queryFn: ({ signal }) => call('access.check', { signal }),
    staleTime: 0,
  });
  if (check.isError) return <Problem error={check.error} retry={() => void check.refetch()} />;
  if (check.data === undefined) return <Skeleton height={240} radius={14} />;
  return (
    <div className={styles.stack}>
      <ul className={styles.findings}>
        {verdictsOf(check.data).map((verdict) => (
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
                <CopyLine value={verdict.copy} label={COPIED[verdict.key] ?? 'origin'} />
              )}
            </div>
          </li>
        ))}
      </ul>
      <div className={styles.acts}>
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

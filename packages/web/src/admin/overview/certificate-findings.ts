import type { AccessCheck } from '@footlight/protocol/rest';
import { plural, t } from '../../i18n/translate.ts';
import type { Finding } from './findings.ts';

/** Time in which a person can replace a certificate whose automatic renewal fails. */
const WARN_DAYS = 14;

/**
 * Whether the certificate that this page uses ends soon. A certificate behind a proxy is left out, because browsers do
 * not see it. Pure.
 */
export function certificateFindings(check: AccessCheck | undefined, nowMs: number): Finding[] {
  const { in_use, info } = check?.certificate ?? {};
  if (!in_use || info === undefined || info.days_until_expiry >= WARN_DAYS) return [];
  const hasExpired = Date.parse(info.not_after) < nowMs;
  return [
    {
      key: 'certificate:ends',
      tone: hasExpired ? 'danger' : 'warning',
      title: hasExpired
        ? t('The certificate has expired')
        : plural(
            // At least one, because the last day counts as zero.
            Math.max(1, info.days_until_expiry),
            'The certificate expires in {n} day',
            'The certificate expires in {n} days',
          ),
      text:
        info.source === 'provided'
          ? t('Renew the files of SERVICE_TLS_CERT and SERVICE_TLS_KEY. No restart is needed.')
          : t(
              'Delete cert.pem and key.pem from the TLS directory and restart the server. Then paste a new install command on each host.',
            ),
      remediation: [],
      hostId: null,
    },
  ];
}

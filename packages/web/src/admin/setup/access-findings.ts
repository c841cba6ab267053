import type { AccessCheck } from '@footlight/protocol/rest';
import { plural, t } from '../../i18n/translate.ts';

export interface AccessFinding {
  key: string;
  good: boolean;
  title: string;
  text: string;
  copy?: string;
}

const copyOf = (copy: string | undefined): Pick<AccessFinding, 'copy'> =>
  copy === undefined ? {} : { copy };

/** Explains the results of the access check, for people who connect in the same way as this browser. Pure. */
export function findingsOf(check: AccessCheck): AccessFinding[] {
  const { request, certificate, origins } = check;
  const address = `${request.scheme}://${request.host}`;
  return [
    {
      key: 'secure',
      good: request.secure_context,
      title: request.secure_context ? t('The connection is secure') : t('The connection is not secure'),
      text: request.secure_context
        ? t('You opened {address}. Browsers allow sound, full screen and the clipboard here.', { address })
        : t(
            'Browsers block the clipboard, the keyboard lock and the microphone on such an address. Use https.',
          ),
    },
    ...(request.advice === undefined
      ? []
      : [
          {
            key: 'proxy',
            good: false,
            title: t('You came through a proxy that is not trusted'),
            text: request.advice,
            ...copyOf(/SERVICE_TRUSTED_PROXIES=\S+/.exec(request.advice)?.[0]),
          },
        ]),
    {
      key: 'certificate',
      good: certificate.advice === undefined,
      title: certificate.in_use
        ? certificate.advice === undefined
          ? t('The certificate fits')
          : t('Check the certificate')
        : t('A proxy in front of this server has the certificate'),
      text:
        certificate.advice ??
        certificate.not_in_use_reason ??
        plural(
          certificate.info?.days_until_expiry ?? 0,
          'It is valid for {n} more day.',
          'It is valid for {n} more days.',
        ),
      ...copyOf(certificate.info?.fingerprint_sha256),
    },
    {
      key: 'origin',
      good: origins.request_origin_allowed !== false,
      title:
        origins.request_origin_allowed === false
          ? t('This address may not open sessions')
          : t('This address may open sessions'),
      text:
        origins.advice ??
        (origins.same_origin_exemption
          ? t('It is the server’s own address, which is always allowed.')
          : t('It is in the list of allowed origins.')),
      ...copyOf(origins.suggested_entry),
    },
  ];
}

import type { AccessCheck } from '@footlight/protocol/rest';
import { saidByServer } from '../../api/server-sentences.ts';
import { msg, plural, t } from '../../i18n/translate.ts';

export interface AccessFinding {
  key: string;
  good: boolean;
  title: string;
  text: string;
  copy?: string;
}

/** What the access check says (control-plane/src/accounts/setup/access-check.ts). */
export const ACCESS_SENTENCES = [
  msg(
    'This request came from {peer}, which sends X-Forwarded-For but is not a trusted proxy. Everybody behind it shares one limit for signing in. If it is your proxy, set {line} and restart the service.',
  ),
  msg('TLS is off in this service. That is a supported setup: something in front has to offer HTTPS.'),
  msg('A proxy in front ends TLS with its own certificate. That is a supported setup.'),
  msg('This request came over plain HTTP. That is a supported setup on a trusted network.'),
  msg('The certificate is not valid yet. Check the clock of the server.'),
  msg('The certificate has expired. Replace it.'),
  msg(
    'The certificate does not name {host}. Add it to SERVICE_TLS_HOSTS, delete cert.pem and key.pem from the TLS directory, and recreate the container or restart the service.',
  ),
  msg(
    'Your certificate does not name {host}. Provide one that does; SERVICE_TLS_HOSTS does not apply to a provided certificate.',
  ),
  msg('The certificate expires within 30 days.'),
  msg(
    'The server signed its certificate itself. Browsers warn until each device trusts it, or until you give the server a certificate that browsers trust already.',
  ),
  msg('No certificate could be ordered from the certificate authority: {reason}'),
  msg('The Origin of this request cannot be read, so pages of it cannot open sessions.'),
  msg('Pages of this origin cannot open sessions. The list is set by SERVICE_ALLOWED_ORIGINS; add it there.'),
  msg('Pages of this origin cannot open sessions. Add it to the allowed origins.'),
] as const;

/** A sentence of the access check in the person's language. */
export const accessSentence = (text: string): string => saidByServer(text, ACCESS_SENTENCES);

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
            text: accessSentence(request.advice),
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
      text: certificateText(certificate),
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
        origins.advice !== undefined
          ? accessSentence(origins.advice)
          : origins.same_origin_exemption
            ? t('It is the server’s own address, which is always allowed.')
            : t('It is in the list of allowed origins.'),
      ...copyOf(origins.suggested_entry),
    },
  ];
}

function certificateText({ advice, not_in_use_reason, info }: AccessCheck['certificate']): string {
  const told = advice ?? not_in_use_reason;
  if (told !== undefined) return accessSentence(told);
  return plural(
    info?.days_until_expiry ?? 0,
    'It is valid for {n} more day.',
    'It is valid for {n} more days.',
  );
}

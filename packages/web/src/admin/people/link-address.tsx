import type { AccessCheck, Success } from '@footlight/protocol/rest';
import { t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';

/** Source of the address in a link that administrators send to people. */
export type LinkSource = Success<'users.passwordReset'>['address_source'];

/** Explains the source of the address in a link, and how to change the address. */
export function LinkAddress({ source, url }: { source: LinkSource; url: string }) {
  const address = new URL(url).host;
  return (
    <p className={styles.dim}>
      {source === 'configured' &&
        t('It has the address {address}, the server’s PUBLIC_BASE_URL.', { address })}
      {source === 'request' &&
        t(
          'It has the address {address}, at which you opened this page. If other people use another address, set PUBLIC_BASE_URL on the server.',
          { address },
        )}
      {source === 'machine' &&
        t(
          'It uses the server’s own address {address}, because other people cannot open the address of this page. If they use another address, set PUBLIC_BASE_URL on the server.',
          { address },
        )}
    </p>
  );
}

/**
 * Address for a link from this page, if the service does not know its public address. If the page was opened at a
 * loopback address, the link uses an IP address from the certificate, which lists the addresses of the machine.
 * @param origin of this page
 */
export function linkBase(
  origin: string,
  access: Pick<AccessCheck, 'certificate'> | undefined,
): { address: string; source: LinkSource } {
  const { hostname, port, protocol } = new URL(origin);
  if (!/^(localhost|.*\.localhost|127\..*|\[::1\])$/.test(hostname))
    return { address: origin, source: 'request' };
  const own = (access?.certificate.info?.ip_addresses ?? []).filter((ip) => !/^(127\.|::1$)/.test(ip));
  const reachable = own.find((ip) => !ip.includes(':')) ?? own[0];
  if (reachable === undefined) return { address: origin, source: 'request' };
  const host = reachable.includes(':') ? `[${reachable}]` : reachable;
  return { address: `${protocol}//${host}${port === '' ? '' : `:${port}`}`, source: 'machine' };
}

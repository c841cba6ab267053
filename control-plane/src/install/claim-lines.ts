import type { Config } from '../platform/config/config.ts';
import { linkAddress } from '../platform/http/origin/instance-address.ts';

/** How to create the first account. Pure. @param own the machine's addresses that others can reach */
export function claimLines(
  { http, tls, accounts }: Pick<Config, 'http' | 'tls' | 'accounts'>,
  own: readonly string[],
): string[] {
  const { port } = (tls ?? http).listen;
  const facts = { publicBaseUrl: http.publicBaseUrl, host: `localhost:${port}`, tls: tls !== null };
  return [
    `Open ${linkAddress(facts, own, port).address}/setup in a browser, and create the first account with the token from:`,
    `  sudo cat ${accounts.setupTokenFile}`,
  ];
}

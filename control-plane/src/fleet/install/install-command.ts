import { hash, X509Certificate } from 'node:crypto';
import { invalid } from '../../platform/errors.ts';

/** The certificate that the install command pins. */
export interface PinnedCertificate {
  /** DER, leaf first. */
  chain: readonly Buffer[];
  /** SHA-256 of the leaf's DER: upper-case hex pairs with colons. */
  fingerprint: string;
}

export interface AddressFacts {
  publicBaseUrl: URL | null;
  /** The Host header of the request. */
  host: string | undefined;
  /** Whether this service offers TLS. */
  tls: boolean;
}

export interface CommandFacts {
  /** Without a trailing slash. */
  address: string;
  token: string;
  nodeName: string | null;
  /** null: the new host's own trust store decides. */
  pin: PinnedCertificate | null;
}

/** A host name or address with an optional port, without characters that have a meaning for shells or URLs. */
const HOST = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?$/;

/**
 * Address of this service for new hosts. Pure.
 * @throws ApiError 400 when it is neither configured nor in the request
 */
export function instanceAddress({ publicBaseUrl, host, tls }: AddressFacts): string {
  if (publicBaseUrl !== null) return publicBaseUrl.href.replace(/\/+$/, '');
  if (host === undefined || !HOST.test(host)) {
    throw invalid(
      'The Host header does not name a host; set PUBLIC_BASE_URL to the address of this service.',
    );
  }
  return `${tls ? 'https' : 'http'}://${host}`;
}

/**
 * The line that makes another machine a host. Every value is quoted for a shell. Pure.
 *
 * With a pin, curl accepts only that key (`-k` only skips the check of the signature chain), and the agent only that
 * certificate, so a man in the middle gets neither script nor token.
 * Source: docs/hosts.md, "Adding one".
 */
export function installCommand({ address, token, nodeName, pin }: CommandFacts): string {
  const trust = pin === null ? '-fsS' : `-fsSk --pinnedpubkey 'sha256//${publicKeyDigest(pin)}'`;
  const variables = [
    ['SERVICE_CONTROL_URL', address],
    ...(pin === null ? [] : [['SERVICE_CONTROL_FINGERPRINT', pin.fingerprint]]),
    ['SERVICE_ENROLLMENT_TOKEN', token],
    ...(nodeName === null ? [] : [['SERVICE_NODE_NAME', nodeName]]),
  ];
  const assignments = variables.map(([name, value]) => `${name}=${shellWord(value ?? '')}`).join(' ');
  return `curl ${trust} ${shellWord(`${address}/install/agent.sh`)} | sudo ${assignments} sh`;
}

/** Base64 of the SHA-256 of the leaf's SubjectPublicKeyInfo, curl's pin format. Source: RFC 7469, section 2.4. */
function publicKeyDigest({ chain }: PinnedCertificate): string {
  const key = new X509Certificate(chain[0]!).publicKey.export({ type: 'spki', format: 'der' });
  return hash('sha256', key, 'base64');
}

/** Quotes any text as one word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_./:@%+,=-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}

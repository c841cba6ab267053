import { hash, X509Certificate } from 'node:crypto';

/** The certificate that the install command pins. */
export interface PinnedCertificate {
  /** DER, leaf first. */
  chain: readonly Buffer[];
  /** SHA-256 of the leaf's DER: upper-case hex pairs with colons. */
  fingerprint: string;
}

export interface CommandFacts {
  /** URL of this service without a trailing slash. */
  address: string;
  token: string;
  nodeName: string | null;
  /** null: the new host checks the certificate with its own trust store. */
  pin: PinnedCertificate | null;
}

/**
 * The shell command that installs a host on another machine. Every value is quoted for a shell. Pure.
 *
 * With a pin, `curl` accepts only that key (`-k` only skips the check of the signature chain), and the agent accepts
 * only that certificate. A man in the middle can therefore neither change the script nor read the token. Source:
 * docs/hosts.md, "Add a host".
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

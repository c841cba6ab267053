import { constants, createPrivateKey, webcrypto, X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Logger, Random } from '@footlight/platform';
import { type Clock, DAY_MS, HOUR_MS, writeWhole } from '@footlight/platform';
import type { Config } from './config/config.ts';

const COMMON_NAME = 'service-control';
const LIFETIME_DAYS = 3650;
/** id-kp-serverAuth (RFC 5280, section 4.2.1.12). */
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';

/** Options of every secure context of the TLS listener. */
export const SECURE_CONTEXT = {
  minVersion: 'TLSv1.2',
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const;

/** The certificate of the TLS listener, used for every server name. */
export interface Certificate {
  source: 'self_signed' | 'provided';
  /** The chain and its key as PEM, for the listener. */
  cert: string;
  key: string;
  /** DER, leaf first. */
  chain: readonly Buffer[];
  /** SHA-256 of the leaf's DER: upper-case hex pairs with colons. */
  fingerprint: string;
}

/** Paths of PEM files. */
export interface PairPaths {
  certFile: string;
  keyFile: string;
}

interface Dependencies {
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Files of the certificate: the operator's, those of ACME orders, or the generated ones. */
export function pairPaths({ provided, acme, dir }: NonNullable<Config['tls']>): PairPaths {
  const folder = acme === null ? dir : join(dir, 'acme');
  return provided ?? { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
}

/**
 * The pair in `pairPaths`. Unless it is the operator's, it is generated on first use (ECDSA P-256, ten years, this
 * machine's names and addresses). A generated pair is not changed when names change; an ACME order replaces it.
 * @throws with a sentence when a file cannot be read or written, or the pair is unusable
 */
export async function loadCertificate(
  tls: NonNullable<Config['tls']>,
  deps: Dependencies,
): Promise<Certificate> {
  const paths = pairPaths(tls);
  const generate = tls.provided === null && !(existsSync(paths.certFile) && existsSync(paths.keyFile));
  if (generate) await generatePair(paths, tls, deps);
  const source = tls.provided === null && tls.acme === null ? 'self_signed' : 'provided';
  const pair = await readPair(paths, source).catch(async (error: unknown) => {
    if (tls.acme === null) throw error;
    // An order that was interrupted between its two files leaves a pair that does not fit. It is ordered again.
    await generatePair(paths, tls, deps);
    const generated = await readPair(paths, source);
    deps.logger.error(
      { err: error, path: paths.certFile, fingerprint: generated.fingerprint },
      'tls.refused',
    );
    return generated;
  });
  warnAbout(pair, paths.certFile, deps);
  deps.logger.info(
    {
      mode: source === 'provided' ? 'provided' : 'self-signed',
      origin: source === 'provided' && !generate ? 'provided' : generate ? 'generated' : 'reused',
      path: paths.certFile,
      fingerprint: pair.fingerprint,
    },
    'tls.certificate',
  );
  return pair;
}

/** This machine's addresses that others can reach: loopback and link-local addresses are left out. */
export function reachableAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal, address }) => !internal && !/^(fe[89ab][0-9a-f]:|169\.254\.)/i.test(address))
    .map(({ address }) => address);
}

/** Names and addresses of a generated certificate, without duplicates. */
export function certificateNames(extra: readonly string[]): { dns: string[]; ip: string[] } {
  const reachable = reachableAddresses();
  const dns = new Map<string, string>();
  const ip = new Set<string>();
  for (const name of ['localhost', '127.0.0.1', '::1', ...extra, ...reachable]) {
    if (isIP(name)) ip.add(name.toLowerCase());
    else if (!dns.has(name.toLowerCase())) dns.set(name.toLowerCase(), name);
  }
  return { dns: [...dns.values()], ip: [...ip] };
}

async function generatePair(
  paths: PairPaths,
  tls: NonNullable<Config['tls']>,
  { clock, random }: Dependencies,
): Promise<void> {
  // Imported only here, because most starts find their pair on disk. reflect-metadata must be imported first.
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const keys = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
    'sign',
    'verify',
  ]);
  const serial = random.bytes(16);
  // A leading one bit would make the number negative.
  serial[0] = (serial[0] ?? 0) & 0x7f;
  const names = certificateNames(tls.extraNames);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial.toString('hex'),
    name: `CN=${COMMON_NAME}`,
    notBefore: new Date(clock.nowMs() - HOUR_MS),
    notAfter: new Date(clock.nowMs() + LIFETIME_DAYS * DAY_MS),
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyEncipherment,
        true,
      ),
      new x509.ExtendedKeyUsageExtension([SERVER_AUTH]),
      new x509.SubjectAlternativeNameExtension([
        ...names.dns.map((value) => ({ type: 'dns' as const, value })),
        ...names.ip.map((value) => ({ type: 'ip' as const, value })),
      ]),
    ],
  });
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const keyPem = `-----BEGIN PRIVATE KEY-----\n${der.replace(/(.{64})/g, '$1\n').trimEnd()}\n-----END PRIVATE KEY-----\n`;
  mkdirSync(tls.dir, { recursive: true, mode: 0o700 });
  chmodSync(tls.dir, 0o700);
  // Write the key first: after a crash the pair without certificate looks missing and is generated again.
  await writeWhole(paths.keyFile, keyPem, 0o600);
  await writeWhole(paths.certFile, `${certificate.toString('pem')}\n`, 0o644);
}

/** @throws with a sentence when a file cannot be read, or the pair is unusable */
export async function readPair(paths: PairPaths, source: Certificate['source']): Promise<Certificate> {
  const cert = await readFile(paths.certFile, 'utf8');
  const key = await readFile(paths.keyFile, 'utf8');
  const blocks = cert.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const chain = blocks.map((block) =>
    parse(() => new X509Certificate(block), paths.certFile, 'is not a certificate'),
  );
  const leaf = chain[0];
  if (!leaf) throw new Error(`${paths.certFile} holds no certificate`);
  const privateKey = parse(() => createPrivateKey(key), paths.keyFile, 'is not an unencrypted private key');
  if (!leaf.checkPrivateKey(privateKey)) {
    const later = chain.some((entry) => entry.checkPrivateKey(privateKey));
    throw new Error(
      later
        ? `${paths.certFile} must begin with the server's own certificate`
        : `${paths.certFile} and ${paths.keyFile} do not belong together`,
    );
  }
  // Node calls the extended key usages keyUsage; undefined means any use.
  const usages = leaf.keyUsage as string[] | undefined;
  if (usages && !usages.includes(SERVER_AUTH)) {
    throw new Error(`${paths.certFile} is not meant for servers (its extended key usage lacks serverAuth)`);
  }
  parse(() => createSecureContext({ cert, key, ...SECURE_CONTEXT }), paths.certFile, 'cannot be served');
  return { source, cert, key, chain: chain.map(({ raw }) => raw), fingerprint: leaf.fingerprint256 };
}

function parse<T>(read: () => T, file: string, why: string): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`${file} ${why}`, { cause: error });
  }
}

/** Whether the leaf is expired or not yet valid. */
export function validityOf({ chain }: Certificate, nowMs: number): 'valid' | 'expired' | 'not_yet_valid' {
  const leaf = new X509Certificate(chain[0]!);
  if (Date.parse(leaf.validFrom) > nowMs) return 'not_yet_valid';
  return Date.parse(leaf.validTo) < nowMs ? 'expired' : 'valid';
}

/** Logs properties for which browsers show a warning. */
export function warnAbout(
  pair: Certificate,
  path: string,
  { clock, logger }: Pick<Dependencies, 'clock' | 'logger'>,
): void {
  const leaf = new X509Certificate(pair.chain[0]!);
  const validity = validityOf(pair, clock.nowMs());
  if (validity === 'not_yet_valid') logger.warn({ path, from: leaf.validFrom }, 'tls.not_yet_valid');
  if (validity === 'expired') logger.warn({ path, until: leaf.validTo }, 'tls.expired');
  if (!leaf.subjectAltName) logger.warn({ path }, 'tls.nameless');
}

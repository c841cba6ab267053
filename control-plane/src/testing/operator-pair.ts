import 'reflect-metadata';
import { webcrypto, X509Certificate } from 'node:crypto';
import { DAY_MS } from '@footlight/platform';
import { TEST_EPOCH_MS } from '@footlight/platform/testing';
import * as x509 from '@peculiar/x509';

/** A key pair like an operator's own, as PEM. */
export interface OperatorPair {
  cert: string;
  key: string;
  fingerprint: string;
}

/** @param fields the pair is valid for a day, from the start of a test's clock */
export async function makeOperatorPair(
  name: string,
  {
    fromMs = TEST_EPOCH_MS - 60_000,
    untilMs = TEST_EPOCH_MS + DAY_MS,
    extensions = [] as x509.Extension[],
  } = {},
): Promise<OperatorPair> {
  const keys = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
    'sign',
    'verify',
  ]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    notBefore: new Date(fromMs),
    notAfter: new Date(untilMs),
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    keys,
    extensions,
  });
  const cert = `${certificate.toString('pem')}\n`;
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const key = `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n`;
  return { cert, key, fingerprint: new X509Certificate(cert).fingerprint256 };
}

import 'reflect-metadata';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, DAY_MS, systemClock, systemRandom } from '@footlight/platform';
import { TEST_EPOCH_MS } from '@footlight/platform/testing';
import * as x509 from '@peculiar/x509';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeOperatorPair } from '../testing/operator-pair.ts';
import { type Certificate, certificateNames, loadCertificate, type PairPaths } from './tls.ts';

const NOW_MS = TEST_EPOCH_MS;

let folder: string;
let log: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-tls-'));
  log = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const load = (
  extra: string[] = [],
  provided: PairPaths | null = null,
  nowMs = NOW_MS,
): Promise<Certificate> =>
  loadCertificate(
    { listen: { host: null, port: 0 }, dir: join(folder, 'tls'), provided, extraNames: extra, acme: null },
    {
      clock: { ...systemClock, nowMs: () => nowMs },
      random: systemRandom,
      logger: createLogger('debug', { write: (line) => void log.push(line) }),
    },
  );

/** Files of an operator's own pair. */
async function operatorPair(name: string, extensions: x509.Extension[] = []): Promise<PairPaths> {
  const { cert, key } = await makeOperatorPair(name, { extensions });
  const paths = { certFile: join(folder, `${name}.pem`), keyFile: join(folder, `${name}.key`) };
  writeFileSync(paths.certFile, cert);
  writeFileSync(paths.keyFile, key);
  return paths;
}

describe('the generated certificate', () => {
  test('is accepted by browsers after one exception', async () => {
    const { cert, key, source, fingerprint, chain } = await load([
      'play.example',
      '192.0.2.7',
      'PLAY.example',
      'localhost',
    ]);
    const leaf = new X509Certificate(cert);
    expect(source).toBe('self_signed');
    expect(leaf.subject).toBe('CN=service-control');
    expect(leaf.publicKey.asymmetricKeyDetails).toMatchObject({ namedCurve: 'prime256v1' });
    expect(leaf.ca).toBe(false);
    expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    expect(leaf.serialNumber.length).toBeGreaterThan(28);
    expect(NOW_MS - Date.parse(leaf.validFrom)).toBeGreaterThan(59 * 60_000);
    expect(Math.round((Date.parse(leaf.validTo) - NOW_MS) / 86_400_000)).toBe(3650);
    const names = leaf.subjectAltName?.split(', ') ?? [];
    expect(names).toEqual(
      expect.arrayContaining([
        'DNS:localhost',
        'DNS:play.example',
        'IP Address:127.0.0.1',
        'IP Address:192.0.2.7',
      ]),
    );
    expect(names.filter((name) => /play/i.test(name))).toHaveLength(1);
    expect(names.filter((name) => name === 'DNS:localhost')).toHaveLength(1);
    expect(fingerprint).toMatch(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
    expect(chain[0]?.equals(leaf.raw)).toBe(true);
    expect(key).toMatch(/^-----BEGIN PRIVATE KEY-----/);
    expect(log.join()).toContain(fingerprint);
    expect(log.join()).not.toContain('PRIVATE');
  });

  test('lies in files that only the service reads, and is kept when names change', async () => {
    const first = await load();
    expect(statSync(join(folder, 'tls')).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'tls/key.pem')).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'tls/cert.pem')).mode & 0o777).toBe(0o644);
    expect((await load(['new.example'])).fingerprint).toBe(first.fingerprint);
    expect(log.join()).toContain('"origin":"reused"');
  });

  test('is made again as a pair when either half is missing', async () => {
    const first = await load();
    rmSync(join(folder, 'tls/cert.pem'));
    const second = await load();
    expect(second.fingerprint).not.toBe(first.fingerprint);
    rmSync(join(folder, 'tls/key.pem'));
    expect((await load()).fingerprint).not.toBe(second.fingerprint);
  });

  test('that was damaged stops the boot', async () => {
    await load();
    writeFileSync(join(folder, 'tls/cert.pem'), 'x');
    await expect(load()).rejects.toThrow(/cert\.pem/);
  });

  test('names no loopback or link-local address twice', () => {
    const { ip } = certificateNames(['127.0.0.1', '::1']);
    expect(new Set(ip).size).toBe(ip.length);
    expect(ip.some((address) => /^(fe80:|169\.254\.)/.test(address))).toBe(false);
  });
});

describe("an operator's pair", () => {
  test('is served as it is, chain and all', async () => {
    const pair = await operatorPair('good', [
      new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: 'play.example' }]),
    ]);
    const other = await operatorPair('issuer');
    writeFileSync(pair.certFile, readFileSync(pair.certFile, 'utf8') + readFileSync(other.certFile, 'utf8'));
    const certificate = await load([], pair);
    expect([certificate.source, certificate.chain.length]).toEqual(['provided', 2]);
    expect(log.filter((line) => line.includes('"warn"'))).toEqual([]);
  });

  test('that is expired, not yet valid or nameless is served with a warning', async () => {
    const pair = await operatorPair('nameless');
    await load([], pair, NOW_MS + 2 * DAY_MS);
    expect(log.join()).toContain('tls.expired');
    expect(log.join()).toContain('tls.nameless');
    await load([], pair, NOW_MS - DAY_MS);
    expect(log.join()).toContain('tls.not_yet_valid');
  });

  test.each([
    [
      'whose halves do not belong together',
      async () => ({ ...(await operatorPair('a')), keyFile: (await operatorPair('b')).keyFile }),
      /do not belong together/,
    ],
    [
      'whose own certificate is not first',
      async () => {
        const pair = await operatorPair('a');
        const issuer = await operatorPair('b');
        writeFileSync(
          pair.certFile,
          readFileSync(issuer.certFile, 'utf8') + readFileSync(pair.certFile, 'utf8'),
        );
        return pair;
      },
      /must begin with/,
    ],
    [
      'that is for clients only',
      () => operatorPair('client', [new x509.ExtendedKeyUsageExtension(['1.3.6.1.5.5.7.3.2'])]),
      /serverAuth/,
    ],
    [
      'that is missing',
      async () => ({ certFile: '/nonexistent.pem', keyFile: '/nonexistent.key' }),
      /nonexistent/,
    ],
  ] as const)('%s stops the boot', async (_what, make, message) => {
    await expect(load([], await make())).rejects.toThrow(message);
  });
});

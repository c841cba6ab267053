import 'reflect-metadata';
import { createHash, webcrypto } from 'node:crypto';
import { DAY_MS } from '@footlight/platform';
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { beforeAll, describe, expect, test } from 'vitest';
import type { CertificateInForce } from '../deps.ts';
import { describeAccess, type RequestFacts } from './access-check.ts';

const NOW_MS = Date.parse('2026-06-01T12:00:00Z');
const DATABASE = { source: 'database' as const, allowed: [] };
const HOST = 'play.example:8443';

const overTls: RequestFacts = {
  host: HOST,
  origin: undefined,
  overTls: true,
  forwardedProtoHeader: undefined,
  forwardedHeader: undefined,
  proxyAdvice: undefined,
};

async function certify(options: { fromMs: number; toMs: number; cn?: string }): Promise<CertificateInForce> {
  const keys = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, [
    'sign',
    'verify',
  ]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: '0102',
    name: `CN=${options.cn ?? 'service-control'}`,
    notBefore: new Date(options.fromMs),
    notAfter: new Date(options.toMs),
    keys,
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    extensions: [
      new BasicConstraintsExtension(false),
      new SubjectAlternativeNameExtension([
        { type: 'dns', value: 'play.example' },
        { type: 'ip', value: '10.1.2.3' },
        { type: 'ip', value: '::1' },
      ]),
    ],
  });
  const der = Buffer.from(certificate.rawData);
  const hex = createHash('sha256').update(der).digest('hex').toUpperCase();
  return { source: 'self_signed', chain: [der], fingerprint: hex.match(/../g)!.join(':') };
}

let certificate: CertificateInForce;
beforeAll(async () => {
  certificate = await certify({
    fromMs: NOW_MS - DAY_MS,
    toMs: NOW_MS + 400 * DAY_MS,
    cn: 'only-a-cn.example',
  });
});

describe('the certificate part', () => {
  test('describes the certificate of a request that came over TLS', () => {
    const { certificate: shown } = describeAccess(overTls, certificate, DATABASE, NOW_MS);
    expect(shown).toMatchObject({
      in_use: true,
      host_covered: true,
      info: {
        source: 'self_signed',
        fingerprint_sha256: certificate.fingerprint,
        subject: 'CN=only-a-cn.example',
        issuer: 'CN=only-a-cn.example',
        days_until_expiry: 400,
        dns_names: ['play.example'],
        ip_addresses: ['10.1.2.3', '::1'],
        chain_length: 1,
        self_signed: true,
        not_before: '2026-05-31T12:00:00.000Z',
      },
    });
    expect(shown).not.toHaveProperty('not_in_use_reason');
    expect(shown.advice).toMatch(/signed its certificate itself/);
  });

  test.each([
    ['play.example', true],
    ['PLAY.example:8443', true],
    ['10.1.2.3:8443', true],
    ['[::1]:8443', true],
    ['[0:0:0:0:0:0:0:1]', true],
    ['only-a-cn.example', false],
    ['other.example', false],
    ['', false],
  ])('covers %s: %s, without the common name', (host, covered) => {
    const { certificate: shown } = describeAccess({ ...overTls, host }, certificate, DATABASE, NOW_MS);
    expect(shown.host_covered).toBe(covered);
  });

  test.each([
    ['not yet valid', -2 * DAY_MS, HOST, /not valid yet/],
    ['expired before a wrong name', 401 * DAY_MS, 'other.example', /expired/],
    ['a wrong name before the near expiry', 399 * DAY_MS, 'other.example', /SERVICE_TLS_HOSTS/],
    ['the near expiry before self-signed', 399 * DAY_MS, HOST, /30 days/],
  ])('advises on %s', (_, laterMs, host, advice) => {
    const shown = describeAccess({ ...overTls, host }, certificate, DATABASE, NOW_MS + laterMs).certificate;
    expect(shown.advice).toMatch(advice);
  });

  test('says that the variable does not apply to a provided certificate', () => {
    const provided = { ...certificate, source: 'provided' as const };
    const shown = describeAccess(
      { ...overTls, host: 'other.example' },
      provided,
      DATABASE,
      NOW_MS,
    ).certificate;
    expect(shown.advice).toMatch(/does not apply/);
  });

  test.each([
    ['plain HTTP', { ...overTls, overTls: false }],
    ['a proxy in front', { ...overTls, forwardedProtoHeader: 'https' }],
  ])('is not in use behind %s, and says that this is supported', (_, request) => {
    const shown = describeAccess(request, certificate, DATABASE, NOW_MS).certificate;
    expect(shown.in_use).toBe(false);
    expect(shown.not_in_use_reason).toMatch(/supported/);
    expect(shown.info).toBeDefined();
    expect(shown).not.toHaveProperty('host_covered');
    expect(shown).not.toHaveProperty('advice');
  });

  test('has no info while TLS is off', () => {
    const shown = describeAccess({ ...overTls, overTls: false }, null, DATABASE, NOW_MS).certificate;
    expect(shown).toEqual({ in_use: false, not_in_use_reason: expect.stringMatching(/supported/) });
  });
});

describe('the request part', () => {
  test.each([
    ['X-Forwarded-Proto', { forwardedProtoHeader: 'HTTPS, http' }, 'https'],
    ['Forwarded', { forwardedHeader: 'for=192.0.2.1;Proto="HTTPS";by=x' }, 'https'],
    [
      'X-Forwarded-Proto before Forwarded',
      { forwardedProtoHeader: 'http', forwardedHeader: 'proto=https' },
      'http',
    ],
    ['neither', {}, undefined],
  ])('reads the forwarded scheme from %s', (_, headers, expected) => {
    const { request } = describeAccess({ ...overTls, ...headers }, certificate, DATABASE, NOW_MS);
    expect(request.forwarded_proto).toBe(expected);
    expect(request.tls_terminated_upstream).toBe(expected !== undefined);
    expect(request.scheme).toBe('https');
  });

  test.each([
    ['over TLS', { overTls: true }, true],
    ['plain, remote host', { overTls: false }, false],
    ['plain, loopback host', { overTls: false, host: 'localhost:8080' }, true],
    ['plain, loopback host by address', { overTls: false, host: '[::1]:8080' }, true],
    [
      'plain, the Origin decides over the Host',
      { overTls: false, host: 'localhost', origin: 'http://x.example' },
      false,
    ],
    [
      'plain, an Origin that does not parse leaves it to the Host',
      { overTls: false, host: 'localhost', origin: 'null' },
      true,
    ],
    ['behind a proxy with https', { overTls: false, forwardedProtoHeader: 'https' }, true],
    ['behind a proxy with http', { overTls: true, forwardedProtoHeader: 'http' }, false],
    [
      'behind a proxy with http, loopback Origin',
      { forwardedProtoHeader: 'http', origin: 'http://localhost:3000' },
      true,
    ],
  ])('secure context: %s', (_, facts, expected) => {
    expect(
      describeAccess({ ...overTls, ...facts }, certificate, DATABASE, NOW_MS).request.secure_context,
    ).toBe(expected);
  });

  test('cuts long headers at 256 characters and says so', () => {
    const { request } = describeAccess({ ...overTls, host: 'h'.repeat(300) }, certificate, DATABASE, NOW_MS);
    expect(request.host).toBe(`${'h'.repeat(256)}…(truncated)`);
    expect(request.origin).toBe('');
  });
});

describe('the origins part', () => {
  const listed = { source: 'database' as const, allowed: ['https://listed.example'] };

  test.each([
    ['no Origin', undefined, null, false],
    ['listed', 'https://listed.example', true, false],
    ['only its own authority', `https://${HOST}`, true, true],
    ['refused', 'https://evil.example', false, false],
  ])('%s', (_, origin, allowed, exempt) => {
    const { origins } = describeAccess({ ...overTls, origin }, certificate, listed, NOW_MS);
    expect(origins).toMatchObject({
      configured: true,
      source: 'database',
      allowed: ['https://listed.example'],
      request_origin_allowed: allowed,
      same_origin_exemption: exempt,
    });
    expect('suggested_entry' in origins).toBe(allowed === false);
  });

  test('suggests no entry where the environment holds the list', () => {
    const pinned = { source: 'environment' as const, allowed: [] };
    const { origins } = describeAccess(
      { ...overTls, origin: 'https://evil.example' },
      certificate,
      pinned,
      NOW_MS,
    );
    expect(origins).toMatchObject({
      configured: false,
      source: 'environment',
      request_origin_allowed: false,
    });
    expect(origins.advice).toMatch(/SERVICE_ALLOWED_ORIGINS/);
    expect(origins).not.toHaveProperty('suggested_entry');
  });
});

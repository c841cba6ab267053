import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../testing/index.ts';

let app: TestApp;
let folder: string;
let port: number;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'over-tls-'));
  const target = { dialect: 'sqlite' as const, file: path.join(folder, 'control.db') };
  app = await createTestApp(target, { env: { SERVICE_TLS: 'auto' } });
  const addresses = await app.plane.listen();
  port = Number(new URL(addresses.https ?? '').port);
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

interface TlsAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  peer: Buffer;
}

function get(url: string, headers: Record<string, string> = {}): Promise<TlsAnswer> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: url, headers, rejectUnauthorized: false, agent: false };
    const request = https.get(options, (response) => {
      const socket = response.socket as TLSSocket;
      const peer = socket.getPeerCertificate().raw;
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, peer }),
      );
    });
    request.on('error', reject);
  });
}

describe('over this server’s own TLS', () => {
  test('gives the leaf in force as one PEM block, with its fingerprint', async () => {
    const answer = await get('/v1/tls/certificate.pem');
    expect(answer.status).toBe(200);
    expect(answer.text.match(/-----BEGIN [A-Z ]+-----/g)).toEqual(['-----BEGIN CERTIFICATE-----']);
    const leaf = new X509Certificate(answer.text);
    expect(leaf.raw).toEqual(answer.peer);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/x-pem-file',
      'content-disposition': 'attachment; filename="service-control-plane.pem"',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-service-certificate-fingerprint': leaf.fingerprint256,
    });
  });

  test('says that its certificate is in use and covers the host', async () => {
    const answer = await get('/v1/admin/access-check', { authorization: `Bearer ${app.people.admin.token}` });
    expect(JSON.parse(answer.text)).toMatchObject({
      request: {
        host: `127.0.0.1:${port}`,
        scheme: 'https',
        tls_terminated_upstream: false,
        secure_context: true,
      },
      certificate: { in_use: true, host_covered: true, info: { source: 'self_signed', self_signed: true } },
    });
  });

  test('marks the page cookie Secure', async () => {
    const answer = await get('/v1/me', { authorization: `Bearer ${app.people.admin.token}` });
    expect(answer.headers['set-cookie']?.[0]).toMatch(/^service_page=.*; Secure$/);
  });
});

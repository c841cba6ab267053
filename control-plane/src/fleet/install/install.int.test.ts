import { execFile } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../testing/index.ts';

const TOKENS = '/v1/admin/enrollment-tokens';
const SCRIPT =
  '#!/bin/sh\necho "would enroll $SERVICE_ENROLLMENT_TOKEN at $SERVICE_CONTROL_URL as $SERVICE_NODE_NAME"\n';
const run = promisify(execFile);

let folder: string;
let app: TestApp;
let port: number;
let fingerprint: string;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'install-'));
  const installDir = path.join(folder, 'install');
  mkdirSync(installDir);
  writeFileSync(path.join(installDir, 'agent.sh'), SCRIPT);
  writeFileSync(path.join(installDir, 'agent-linux-x64.tgz'), 'an archive');
  const target = { dialect: 'sqlite' as const, file: path.join(folder, 'control.db') };
  app = await createTestApp(target, { env: { SERVICE_TLS: 'auto' }, overrides: { installDir } });
  port = Number(new URL((await app.plane.listen()).https ?? '').port);
  fingerprint = (await ask('GET', '/v1/tls/certificate.pem')).headers[
    'x-service-certificate-fingerprint'
  ] as string;
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

/** One request over the service's own TLS, as the administrator. */
function ask(method: string, url: string, headers: Record<string, string> = {}, body?: object) {
  return new Promise<{ status: number; headers: Record<string, unknown>; text: string; peer: Buffer }>(
    (resolve, reject) => {
      const request = https.request(
        {
          host: '127.0.0.1',
          port,
          path: url,
          method,
          headers: { authorization: `Bearer ${app.people.admin.token}`, ...headers },
          rejectUnauthorized: false,
          agent: false,
        },
        (answer) => {
          const peer = (answer.socket as import('node:tls').TLSSocket).getPeerCertificate().raw;
          let text = '';
          answer.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          answer.on('end', () =>
            resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, peer }),
          );
        },
      );
      request.once('error', reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    },
  );
}

const mint = async (headers: Record<string, string> = {}, body: object = {}) => {
  const answer = await ask('POST', TOKENS, headers, body);
  expect(answer.status).toBe(201);
  return JSON.parse(answer.text) as { token: string; command: string };
};

describe('the line of an enrollment token', () => {
  test('over the service’s own TLS it pins the key, the certificate and the address that answered', async () => {
    const { token, command } = await mint({}, { node_name: 'render-1' });
    const leaf = new X509Certificate((await ask('GET', '/v1/tls/certificate.pem')).text);
    const key = leaf.publicKey.export({ type: 'spki', format: 'der' });
    const pin = createHash('sha256').update(key).digest('base64');
    const address = `https://127.0.0.1:${port}`;
    expect(command).toBe(
      `curl -fsSk --pinnedpubkey 'sha256//${pin}' ${address}/install/agent.sh | sudo SERVICE_CONTROL_URL=${address} SERVICE_CONTROL_FINGERPRINT=${fingerprint} SERVICE_ENROLLMENT_TOKEN=${token} SERVICE_NODE_NAME=render-1 sh`,
    );
  });

  test.each([
    ['X-Forwarded-Proto', { 'x-forwarded-proto': 'https' }],
    ['Forwarded', { forwarded: 'for=192.0.2.1;proto=https' }],
  ])('behind a proxy, announced by %s, it pins nothing', async (_header, headers) => {
    const { command } = await mint(headers);
    expect(command).toMatch(/^curl -fsS https:/);
    expect(command).not.toMatch(/pinned|FINGERPRINT/);
  });

  test('over the plain port it pins nothing', async () => {
    const answer = await app.call(app.people.admin, 'POST', TOKENS, {
      headers: { host: 'play.lan', 'x-forwarded-proto': 'https' },
    });
    expect(answer.body.command).toMatch(
      /^curl -fsS https:\/\/play\.lan\/install\/agent\.sh \| sudo SERVICE_CONTROL_URL=https:\/\/play\.lan SERVICE_E/,
    );
  });

  test('a request that names no host mints nothing', async () => {
    const minted = async () => JSON.parse((await ask('GET', TOKENS)).text).items.length as number;
    const before = await minted();
    const answer = await app.call(app.people.admin, 'POST', TOKENS, {
      headers: { host: 'x;$(reboot)', 'x-forwarded-proto': 'https' },
    });
    expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_failed']);
    expect(await minted()).toBe(before);
  });

  test('run by a shell it runs the script with the right variables', async () => {
    const { token, command } = await mint({}, { node_name: 'render-1' });
    const { stdout } = await run('sh', ['-c', withoutSudo(command)]);
    expect(stdout.trim()).toBe(`would enroll ${token} at https://127.0.0.1:${port} as render-1`);
  });

  test('a man in the middle with another certificate can neither send a script nor learn a token', async () => {
    const { token, command } = await mint();
    const heard: string[] = [];
    const { key, cert } = await pairOfSomebodyElse();
    const thief = https.createServer({ key, cert }, (request, answer) => {
      heard.push(JSON.stringify([request.url, request.headers]));
      answer.end('echo stolen');
    });
    thief.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve) => thief.listen(0, '127.0.0.1', resolve));
    const { port: thiefs } = thief.address() as { port: number };
    try {
      const redirected = withoutSudo(command).replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${thiefs}`);
      const { stdout, stderr } = await run('sh', ['-c', redirected]);
      expect(stderr).toContain('public key');
      expect(stdout).toBe('');
      expect(heard.join()).not.toContain(token);
      expect(heard).toEqual([]);
    } finally {
      await new Promise((resolve) => thief.close(resolve));
    }
  });
});

/** Replace `sudo`, because the machine that runs the tests may have a separate user for them, or no `sudo`. */
const withoutSudo = (command: string) => command.replace('| sudo SERVICE', '| env SERVICE');

async function pairOfSomebodyElse(): Promise<{ key: string; cert: string }> {
  const { stdout } = await run('openssl', [
    ...[
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-subj',
      '/CN=service-control',
    ],
    ...['-keyout', '-', '-days', '2'],
  ]);
  const [key = '', cert = ''] = stdout.match(/-----BEGIN [\s\S]*?-----END [^-]+-----/g) ?? [];
  return { key, cert };
}

describe('what the line fetches', () => {
  test('the script and the archive are there for anybody, by their types and sizes', async () => {
    const script = await ask('GET', '/install/agent.sh', { authorization: '' });
    expect([script.status, script.headers['content-type'], script.text]).toEqual([
      200,
      'text/x-shellscript; charset=utf-8',
      SCRIPT,
    ]);
    const archive = await ask('GET', '/install/agent-linux-x64.tgz', { authorization: '' });
    expect([
      archive.status,
      archive.headers['content-type'],
      archive.headers['content-length'],
      archive.text,
    ]).toEqual([200, 'application/gzip', '10', 'an archive']);
  });

  test('an address gets ten archives an hour, and the script however often it asks', async () => {
    const target = { dialect: 'sqlite' as const, file: path.join(folder, 'hour.db') };
    const shop = await createTestApp(target, {
      env: { SERVICE_TRUSTED_PROXIES: '127.0.0.1' },
      overrides: { installDir: path.join(folder, 'install') },
    });
    const get = (file: string, from = '192.0.2.1', method = 'GET') =>
      shop.call(null, method, `/install/${file}`, { headers: { 'x-forwarded-for': from } });
    try {
      for (let n = 0; n < 20; n += 1) {
        expect((await get('agent.sh')).status).toBe(200);
        expect((await get('agent-linux-x64.tgz', '192.0.2.1', 'HEAD')).status).toBe(200);
      }
      for (let n = 0; n < 10; n += 1) expect((await get('agent-linux-x64.tgz')).status).toBe(200);
      const refused = await get('agent-linux-x64.tgz');
      expect([refused.status, refused.body?.error.code, refused.headers['retry-after']]).toEqual([
        429,
        'rate_limited',
        '3600',
      ]);
      expect((await get('agent-linux-x64.tgz', '192.0.2.2')).status).toBe(200);
      await shop.clock.pass(3_600_000);
      expect((await get('agent-linux-x64.tgz')).status).toBe(200);
    } finally {
      await shop.close();
    }
  });

  test('a HEAD gets the same answer without the bytes', async () => {
    const answer = await ask('HEAD', '/install/agent-linux-x64.tgz');
    expect([answer.status, answer.headers['content-length'], answer.text]).toEqual([200, '10', '']);
  });

  test('any other name below is 404', async () => {
    for (const name of ['.digest', '..%2f..%2fpackage.json', 'agent-linux-arm64.tgz'])
      expect((await ask('GET', `/install/${name}`)).status).toBe(404);
  });

  test('a build without an agent says so', async () => {
    const target = { dialect: 'sqlite' as const, file: path.join(folder, 'bare.db') };
    const bare = await createTestApp(target, { overrides: { installDir: path.join(folder, 'nothing') } });
    try {
      const answer = await bare.call(null, 'GET', '/install/agent.sh');
      expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found']);
      expect(answer.body.error.message).toContain('scripts/up');
    } finally {
      await bare.close();
    }
  });
});

import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from 'node:tls';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '@footlight/platform';
import { freePort } from '@footlight/test-harness';
import { Agent, fetch } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type AcmeAuthority, startAcmeAuthority } from '../testing/acme-authority.ts';
import { createTestApp, type TestApp } from '../testing/index.ts';
import { makeOperatorPair } from '../testing/operator-pair.ts';
import { limitWaitMs, MAX_FAILURES, retryMs } from './acme-rules.ts';

const HOST = 'footlight.example.test';
const OTHER = 'play.example.test';
const REFUSED = 'refused.example.test';
const patiently = { timeout: 60_000 };

describe('a certificate over ACME', () => {
  let folder: string;
  let plainPort: number;
  let authority: AcmeAuthority;
  let app: TestApp;
  let port: number;

  /** Starts the control plane, or starts it again with its data. */
  async function start(hosts: string): Promise<void> {
    const file = path.join(folder, 'control.db');
    app = await createTestApp(
      { dialect: 'sqlite', file },
      {
        // The authority's certificates are valid from the second of their issue.
        nowMs: Date.now() + MINUTE_MS,
        seedPeople: !existsSync(file),
        env: {
          SERVICE_TLS: 'auto',
          SERVICE_TLS_DIR: path.join(folder, 'tls'),
          LISTEN_ADDR: `127.0.0.1:${plainPort}`,
          SERVICE_ACME_HOSTS: hosts,
          SERVICE_ACME_EMAIL: 'ada@example.test',
          SERVICE_ACME_URL: authority.directory,
          SERVICE_ACME_CA_FILE: authority.caFile,
        },
      },
    );
    const addresses = await app.plane.listen();
    port = Number(new URL(addresses.https ?? '').port);
  }
  const eventsOf = (event: string) =>
    app.log.map((line) => JSON.parse(line)).filter((line) => line.event === event);

  /** The leaf that a browser gets. @param ca null: any certificate is accepted */
  const served = (ca: string | null): Promise<X509Certificate> =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, servername: HOST };
      const trust = ca === null ? { rejectUnauthorized: false } : { ca };
      const socket = connect({ ...options, ...trust }, () => {
        resolve(new X509Certificate(socket.getPeerCertificate().raw));
        socket.destroy();
      });
      socket.once('error', reject);
    });
  const isSelfSigned = (leaf: X509Certificate) => leaf.subject === leaf.issuer;
  /** A request of the administrator over this server's own TLS. */
  const ask = async (method: string, url: string) => {
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
    const headers = { authorization: `Bearer ${app.people.admin.token}` };
    try {
      const answer = await fetch(`https://127.0.0.1:${port}${url}`, {
        method,
        headers,
        dispatcher,
        body: method === 'POST' ? '{}' : null,
      });
      return JSON.parse(await answer.text());
    } finally {
      await dispatcher.close();
    }
  };

  beforeEach(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'footlight-acme-'));
    mkdirSync(path.join(folder, 'tls'));
    plainPort = await freePort();
    authority = await startAcmeAuthority(folder, plainPort, REFUSED);
  }, 90_000);
  afterEach(async () => {
    await app?.close();
    await authority.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('is ordered at the first start, kept at the next one, and ordered again for another name', async () => {
    await start(HOST);
    await expect
      .poll(async () => [isSelfSigned(await served(null)), eventsOf('acme.failed')], patiently)
      .toEqual([false, []]);
    const first = await served(await authority.root());
    expect(first.checkHost(HOST)).toBe(HOST);
    for (const [file, mode] of [
      ['cert.pem', 0o644],
      ['key.pem', 0o600],
      ['account.pem', 0o600],
    ] as const)
      expect([file, statSync(path.join(folder, 'tls/acme', file)).mode & 0o777]).toEqual([file, mode]);
    expect(eventsOf('acme.failed')).toEqual([]);
    await app.close();

    await start(HOST);
    expect((await served(null)).fingerprint256).toBe(first.fingerprint256);
    expect(eventsOf('acme.ordering')).toEqual([]);
    await app.close();

    await start(`${HOST},${OTHER}`);
    await expect.poll(async () => (await served(null)).checkHost(OTHER), patiently).toBe(OTHER);
    expect(eventsOf('acme.ordering')).toEqual([expect.objectContaining({ reason: 'names' })]);
  });

  test('is ordered again if a crash left a key without its certificate', async () => {
    await start(HOST);
    await expect
      .poll(async () => [isSelfSigned(await served(null)), eventsOf('acme.failed')], patiently)
      .toEqual([false, []]);
    await app.close();
    const { key } = await makeOperatorPair('other');
    writeFileSync(path.join(folder, 'tls/acme/key.pem'), key);
    await start(HOST);
    expect(eventsOf('tls.refused')).toHaveLength(1);
    await expect.poll(async () => isSelfSigned(await served(null)), patiently).toBe(false);
  });

  test('is renewed while the service runs, and open connections continue', async () => {
    await start(HOST);
    await expect
      .poll(async () => [isSelfSigned(await served(null)), eventsOf('acme.failed')], patiently)
      .toEqual([false, []]);
    const first = await served(null);
    const open = connect({ host: '127.0.0.1', port, servername: HOST, rejectUnauthorized: false });
    const lifetimeMs = Date.parse(first.validTo) - Date.parse(first.validFrom);

    // The order needs several real requests, so the clock stands still meanwhile.
    await app.clock.advance(lifetimeMs - lifetimeMs / 3 + 2 * DAY_MS);
    await expect
      .poll(async () => (await served(null)).fingerprint256, patiently)
      .not.toBe(first.fingerprint256);
    expect(open.destroyed).toBe(false);
    open.destroy();
  });

  test('is refused: the reason is logged and shown, and the self-signed one stays until the next attempt', async () => {
    await start(REFUSED);
    await expect.poll(() => eventsOf('acme.failed'), patiently).toHaveLength(1);
    expect(eventsOf('acme.failed')[0]).toMatchObject({ hosts: [REFUSED], retry_secs: 900 });
    const { reason } = eventsOf('acme.failed')[0];
    expect(reason).toContain(REFUSED);
    expect(isSelfSigned(await served(null))).toBe(true);
    const { certificate } = await ask('GET', '/v1/admin/access-check');
    expect(certificate.advice).toBe(
      `No certificate could be ordered from the certificate authority: ${reason}`,
    );
    await app.clock.advance(20 * MINUTE_MS);
    await expect.poll(() => eventsOf('acme.failed'), patiently).toHaveLength(2);
  });

  test('is not ordered by a restart after several failures, but after a change of the names', async () => {
    await authority.stop();
    const people = {} as TestApp['people'];
    for (let restart = 0; restart < MAX_FAILURES; restart += 1) {
      await start(HOST);
      await expect.poll(() => eventsOf('acme.failed'), patiently).toHaveLength(1);
      Object.assign(people, app.people);
      await app.close();
    }
    await start(HOST);
    Object.assign(app.people, people);
    await expect.poll(() => eventsOf('acme.waiting'), patiently).toHaveLength(1);
    expect(eventsOf('acme.waiting')[0]).toMatchObject({ reason: expect.stringContaining('does not answer') });
    const { certificate } = await ask('GET', '/v1/admin/access-check');
    expect(certificate.advice).toContain('does not answer');
    expect(eventsOf('acme.ordering')).toEqual([]);
    await app.clock.advance(2 * HOUR_MS);
    await expect.poll(() => eventsOf('acme.failed'), patiently).toHaveLength(1);
    await app.close();
    await start(OTHER);
    await expect.poll(() => eventsOf('acme.failed'), patiently).toHaveLength(1);
  });

  test('whose authority does not answer', async () => {
    await authority.stop();
    await start(HOST);
    await expect.poll(() => eventsOf('acme.failed'), patiently).toHaveLength(1);
    expect(eventsOf('acme.failed')[0]).toMatchObject({ reason: expect.stringContaining('does not answer') });
    expect(isSelfSigned(await served(null))).toBe(true);
  });

  test('hosts do not pin it, and only tokens of a running order are answered', async () => {
    await start(HOST);
    const plain = `http://127.0.0.1:${plainPort}/.well-known/acme-challenge`;
    for (const token of ['', 'unknown', '..%2f..', '__proto__']) {
      const answer = await fetch(`${plain}/${token}`, { redirect: 'manual' });
      expect([token, answer.status]).toEqual([token, 308]);
    }
    await expect
      .poll(async () => [isSelfSigned(await served(null)), eventsOf('acme.failed')], patiently)
      .toEqual([false, []]);
    const { command } = await ask('POST', '/v1/admin/enrollment-tokens');
    expect(command).toContain('/install/agent.sh');
    expect(command).not.toMatch(/FINGERPRINT|pinnedpubkey/);
  });
});

describe('the next attempt', () => {
  test.each([
    [1, 15 * MINUTE_MS],
    [2, 30 * MINUTE_MS],
    [6, 8 * HOUR_MS],
    [7, 12 * HOUR_MS],
    [50, 12 * HOUR_MS],
  ])('waits after %i failures', (failures, ms) => expect(retryMs(failures)).toBe(ms));
});

describe('the limit of failures', () => {
  const now = 10 * HOUR_MS;
  const ago = (...minutes: number[]) => minutes.map((each) => now - each * MINUTE_MS);

  test.each<[string, number[], number]>([
    ['no failure', [], 0],
    ['three in an hour', ago(3, 2, 1), 0],
    ['four in an hour', ago(50, 3, 2, 1), 10],
    ['four, the oldest an hour ago', ago(60, 3, 2, 1), 0],
    ['four at once', ago(0, 0, 0, 0), 60],
    ['a clock that was set back', ago(-1, -2, -3, -4), 0],
  ])('%s: waits', (_what, failedAtMs, minutes) =>
    expect(limitWaitMs(failedAtMs, now)).toBe(minutes * MINUTE_MS),
  );
});

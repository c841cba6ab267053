import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type http from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { createLogger, DAY_MS, systemClock, systemRandom } from '@footlight/platform';
import { ManualClock, TEST_EPOCH_MS } from '@footlight/platform/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { makeOperatorPair, type OperatorPair } from '../testing/operator-pair.ts';
import { loadConfig } from './config/config.ts';
import { createListeners, type Listeners } from './http/connection/listeners.ts';
import { loadCertificate, type PairPaths } from './tls.ts';
import { ReloadedCertificate } from './tls-reload.ts';

const CHECK_EVERY_MS = 10_000;

let folder: string;
let paths: PairPaths;
let clock: ManualClock;
let log: { event: string; [field: string]: unknown }[];
let first: OperatorPair;
let next: OperatorPair;
let listeners: Listeners;
let port: number;
let certificate: ReloadedCertificate;
let downloads: ServerResponse[];
let sockets: WebSocketServer;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-reload-'));
  paths = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
  clock = new ManualClock();
  log = [];
  downloads = [];
  first = await makeOperatorPair('first');
  next = await makeOperatorPair('next');
});
afterEach(async () => {
  certificate.close();
  for (const client of sockets.clients) client.terminate();
  await listeners.close();
  rmSync(folder, { recursive: true, force: true });
});

function write(pair: { cert: string; key: string }): void {
  writeFileSync(paths.certFile, pair.cert);
  writeFileSync(paths.keyFile, pair.key);
}

/** Serves the pair in the files over TLS. Every request is a download that the test continues by hand. */
async function serve(): Promise<void> {
  const logger = createLogger('info', { write: (line) => void log.push(JSON.parse(line)) });
  const deps = { clock, random: systemRandom, logger };
  const config = loadConfig({
    SERVICE_DATA_DIR: folder,
    SERVICE_TLS_CERT: paths.certFile,
    SERVICE_TLS_KEY: paths.keyFile,
    LISTEN_ADDR: '127.0.0.1:0',
    SERVICE_TLS_ADDR: '127.0.0.1:0',
  });
  const pair = await loadCertificate(config.tls!, deps);
  certificate = new ReloadedCertificate(pair, paths, deps);
  listeners = createListeners({ config, logger, clock: systemClock, certificate: pair });
  const plain = listeners.attach((_request, response) => void downloads.push(response));
  sockets = new WebSocketServer({ noServer: true });
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(`echo ${data}`)));
  plain.on('upgrade', (request: IncomingMessage, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (client) => sockets.emit('connection', client)),
  );
  port = Number(new URL((await listeners.listen()).https ?? '').port);
  certificate.start((changed) => listeners.setCertificate(changed));
  log = [];
}

/** Fingerprint of the certificate that a new handshake gets. */
async function served(): Promise<string> {
  const socket: TLSSocket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

const events = (): string[] => log.map(({ event }) => event);
const refusals = (): unknown[] =>
  log.filter(({ event }) => event === 'tls.refused').map(({ err }) => (err as Error).message);

describe('a changed pair', () => {
  test('is used for new handshakes, while an open WebSocket and a slow download continue', async () => {
    write(first);
    await serve();
    const socket = new WebSocket(`wss://127.0.0.1:${port}`, { rejectUnauthorized: false });
    await once(socket, 'open');
    const request = https.get({ host: '127.0.0.1', port, rejectUnauthorized: false, agent: false });
    await expect.poll(() => downloads.length, { timeout: 60_000 }).toBe(1);
    const [download] = downloads;
    download?.write('one ');
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];

    write(next);
    clock.advance(CHECK_EVERY_MS);
    await expect.poll(events, { timeout: 60_000 }).toContain('tls.certificate');
    expect(await served()).toBe(next.fingerprint);
    expect(certificate.current).toMatchObject({ source: 'provided', fingerprint: next.fingerprint });
    expect(log).toContainEqual(
      expect.objectContaining({ origin: 'reloaded', fingerprint: next.fingerprint }),
    );

    socket.send('still here');
    const [echo] = (await once(socket, 'message')) as [Buffer];
    expect(echo.toString()).toBe('echo still here');
    download?.end('two');
    let text = '';
    for await (const chunk of response) text += chunk;
    expect(text).toBe('one two');
    expect((response.socket as TLSSocket).getPeerCertificate().fingerprint256).toBe(first.fingerprint);
    socket.terminate();
  });

  test('keeps the versions and the protocol of the listener', async () => {
    write(first);
    await serve();
    write(next);
    await certificate.check();
    const old = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, maxVersion: 'TLSv1.1' });
    const [error] = (await once(old, 'error')) as [Error];
    expect(error.message).toMatch(/alert|version|protocol/i);
    const socket = connect({
      host: '127.0.0.1',
      port,
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
    });
    await once(socket, 'secureConnect');
    expect(socket.alpnProtocol).toBe('http/1.1');
    socket.destroy();
  });

  test('is found when certbot points its links in live/ to new files in archive/', async () => {
    const archive = join(folder, 'archive');
    mkdirSync(archive);
    const link = (target: string, path: string) => {
      rmSync(path, { force: true });
      symlinkSync(target, path);
    };
    writeFileSync(join(archive, 'cert1.pem'), first.cert);
    writeFileSync(join(archive, 'key1.pem'), first.key);
    link('archive/cert1.pem', paths.certFile);
    link('archive/key1.pem', paths.keyFile);
    await serve();
    await certificate.check();
    writeFileSync(join(archive, 'cert2.pem'), next.cert);
    writeFileSync(join(archive, 'key2.pem'), next.key);
    link('archive/key2.pem', paths.keyFile);
    // certbot replaces the links one after the other.
    await certificate.check();
    expect(await served()).toBe(first.fingerprint);
    link('archive/cert2.pem', paths.certFile);
    await certificate.check();
    expect(await served()).toBe(next.fingerprint);
    expect(events()).not.toContain('tls.refused');
  });

  test('is found when Kubernetes points ..data to another folder', async () => {
    for (const [name, pair] of [
      ['..1', first],
      ['..2', next],
    ] as const) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'cert.pem'), pair.cert);
      writeFileSync(join(folder, name, 'key.pem'), pair.key);
    }
    symlinkSync('..1', join(folder, '..data'));
    symlinkSync('..data/cert.pem', paths.certFile);
    symlinkSync('..data/key.pem', paths.keyFile);
    await serve();
    await certificate.check();
    symlinkSync('..2', join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    await certificate.check();
    expect(await served()).toBe(next.fingerprint);
  });

  test('is not logged when only its times changed', async () => {
    write(first);
    await serve();
    await certificate.check();
    write(first);
    await certificate.check();
    await certificate.reload();
    expect(log).toEqual([]);
  });

  test('is not used after the end', async () => {
    write(first);
    await serve();
    certificate.close();
    write(next);
    clock.advance(CHECK_EVERY_MS);
    await certificate.reload();
    expect(certificate.current.fingerprint).toBe(first.fingerprint);
  });
});

describe('a pair that cannot be used', () => {
  test('with the key of another certificate is refused once, and the former one stays in use', async () => {
    write(first);
    await serve();
    write({ cert: next.cert, key: first.key });
    for (let n = 0; n < 4; n += 1) await certificate.check();
    expect(refusals()).toEqual([expect.stringMatching(/do not belong together/)]);
    expect(log.at(0)).toMatchObject({
      level: 'error',
      path: paths.certFile,
      fingerprint: first.fingerprint,
    });
    expect(await served()).toBe(first.fingerprint);
    write({ cert: first.cert, key: next.key });
    for (let n = 0; n < 3; n += 1) await certificate.check();
    expect(refusals()).toHaveLength(2);
    write(next);
    await certificate.check();
    expect(await served()).toBe(next.fingerprint);
  });

  test('because only a half is written is silently read again, until it is whole', async () => {
    write(first);
    await serve();
    for (const part of [
      { cert: '', key: first.key },
      { cert: next.cert.slice(0, next.cert.length / 2), key: first.key },
      { cert: next.cert, key: first.key },
      { cert: next.cert, key: next.key.slice(0, next.key.length / 2) },
    ]) {
      write(part);
      await certificate.check();
      expect(await served()).toBe(first.fingerprint);
    }
    write(next);
    await certificate.check();
    expect(await served()).toBe(next.fingerprint);
    expect(events()).not.toContain('tls.refused');
  });

  test('because a file is gone or unreadable is refused, and used as soon as it is there again', async () => {
    write(first);
    await serve();
    rmSync(paths.keyFile);
    for (let n = 0; n < 3; n += 1) await certificate.check();
    expect(refusals()).toEqual([expect.stringMatching(/ENOENT.*key\.pem/)]);
    mkdirSync(paths.keyFile);
    for (let n = 0; n < 3; n += 1) await certificate.check();
    expect(refusals()).toHaveLength(2);
    rmSync(paths.keyFile, { recursive: true });
    write(next);
    chmodSync(paths.keyFile, 0o600);
    await certificate.check();
    expect(await served()).toBe(next.fingerprint);
  });

  test.each([
    ['expired', { untilMs: TEST_EPOCH_MS - 1_000 }, /cert\.pem has expired/],
    ['not yet valid', { fromMs: TEST_EPOCH_MS + 3_600_000 }, /cert\.pem is not valid yet/],
  ] as const)('because it is %s does not replace a valid one', async (_what, validity, message) => {
    write(first);
    await serve();
    write(await makeOperatorPair('other', validity));
    await certificate.reload();
    expect(refusals()).toEqual([expect.stringMatching(message)]);
    expect(await served()).toBe(first.fingerprint);
  });

  test('because it is not valid yet is used from its first moment, without another change', async () => {
    write(first);
    await serve();
    const later = await makeOperatorPair('later', { fromMs: TEST_EPOCH_MS + 3_600_000 });
    write(later);
    await certificate.check();
    clock.jump(3_600_000);
    await certificate.check();
    expect(await served()).toBe(later.fingerprint);
  });

  test('because it has expired replaces an expired one, with the warning of a start', async () => {
    write(first);
    await serve();
    clock.jump(2 * DAY_MS);
    write(next);
    await certificate.check();
    expect(await served()).toBe(next.fingerprint);
    expect(events()).toEqual(expect.arrayContaining(['tls.expired', 'tls.certificate']));
  });
});

test('a requested reload reads the pair and tells a refusal at once', async () => {
  write(first);
  await serve();
  write({ cert: next.cert, key: first.key });
  await certificate.reload();
  expect(refusals()).toHaveLength(1);
  write(next);
  // Requests during a check are answered by one more check.
  await Promise.all([certificate.check(), certificate.reload(), certificate.reload()]);
  expect(await served()).toBe(next.fingerprint);
});

import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '@footlight/platform/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { type DialOptions, dial } from './dial.ts';
import { type Resolve, shuffledLookup } from './shuffled-lookup.ts';

const NAME = 'replicas.example';
const ADDRESSES = ['127.0.0.1', '127.0.0.2'];
const DIALS = 40;

/** Knows two addresses of every name. */
const resolve: Resolve = (_name, _options, done) =>
  done(
    null,
    ADDRESSES.map((address) => ({ address, family: 4 })),
  );

describe('a control plane with two addresses of one name', () => {
  const servers: Server[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    }
  });

  /** Starts a replica. @returns its port */
  async function listen(server: Server, address: string, port = 0): Promise<number> {
    servers.push(server.listen(port, address));
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }
  /** A replica that accepts agents. */
  function accepting(server: Server = createServer()): Server {
    const sockets = new WebSocketServer({ server });
    server.on('close', () => sockets.close());
    return server;
  }
  /** A replica that refuses agents, for example while it starts. */
  function unready(): Server {
    const server = createServer();
    server.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n'));
    return server;
  }

  const lookup = shuffledLookup(seededRandom(1), resolve);
  /** Dials once. @returns the address that accepted, the status of the refusal, or the error */
  async function attempt(url: string, trust: Partial<DialOptions> = {}): Promise<string | number> {
    const socket = dial({
      controlUrl: new URL(url),
      ...{ controlCa: null, controlFingerprint: null, nodeName: 'node-1', bootId: 'boot' },
      credential: { kind: 'secret', secret: 'the secret' },
      handshakeTimeoutMs: 5_000,
      lookup,
      ...trust,
    });
    const outcome = await new Promise<string | number>((settle) => {
      socket.on('upgrade', ({ socket: { remoteAddress } }) => settle(remoteAddress ?? ''));
      socket.on('unexpected-response', (_request, { statusCode }) => settle(statusCode ?? 0));
      socket.on('error', (error) => settle(String(error)));
    });
    socket.terminate();
    return outcome;
  }
  async function attempts(url: string, trust?: Partial<DialOptions>): Promise<Set<string | number>> {
    const outcomes = new Set<string | number>();
    for (let n = 0; n < DIALS; n += 1) outcomes.add(await attempt(url, trust));
    return outcomes;
  }

  test('agents use both', async () => {
    const port = await listen(accepting(), '127.0.0.1');
    await listen(accepting(), '127.0.0.2', port);
    expect(await attempts(`http://${NAME}:${port}`)).toEqual(new Set(ADDRESSES));
  });

  test('one that refuses connections is left at once', async () => {
    const port = await listen(accepting(), '127.0.0.2');
    expect(await attempts(`http://${NAME}:${port}`)).toEqual(new Set(['127.0.0.2']));
  });

  test('one that answers 503 is left with a later attempt', async () => {
    const port = await listen(unready(), '127.0.0.1');
    await listen(accepting(), '127.0.0.2', port);
    expect(await attempts(`http://${NAME}:${port}`)).toEqual(new Set([503, '127.0.0.2']));
  });

  test('a name without an address is an error', async () => {
    const missing = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    const unknown = shuffledLookup(seededRandom(1), (_name, _options, done) => done(missing, []));
    expect(await attempt(`http://${NAME}:1`, { lookup: unknown })).toContain('ENOTFOUND');
  });

  describe('with TLS', () => {
    let dir: string;
    let key: string;
    let cert: string;
    beforeAll(() => {
      dir = mkdtempSync(join(tmpdir(), 'footlight-lookup-'));
      const files = { key: join(dir, 'key.pem'), cert: join(dir, 'cert.pem') };
      execFileSync(
        'openssl',
        [
          ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
          ...['-days', '2', '-subj', `/CN=${NAME}`, '-addext', `subjectAltName=DNS:${NAME}`],
          ...['-keyout', files.key, '-out', files.cert],
        ],
        { stdio: 'ignore' },
      );
      key = readFileSync(files.key, 'utf8');
      cert = readFileSync(files.cert, 'utf8');
    });
    afterAll(() => rmSync(dir, { recursive: true, force: true }));

    const secure = () => accepting(createHttpsServer({ key, cert }));

    test('the certificate must contain the name', async () => {
      const port = await listen(secure(), '127.0.0.1');
      await listen(secure(), '127.0.0.2', port);
      const trust = { controlCa: cert };
      expect(await attempts(`https://${NAME}:${port}`, trust)).toEqual(new Set(ADDRESSES));
      expect(await attempt(`https://other.example:${port}`, trust)).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
    });

    test('the certificate may be pinned', async () => {
      const port = await listen(secure(), '127.0.0.2');
      const { fingerprint256 } = new X509Certificate(cert);
      const url = `https://${NAME}:${port}`;
      expect(await attempts(url, { controlFingerprint: fingerprint256 })).toEqual(new Set(['127.0.0.2']));
      const wrong = Array(32).fill('AB').join(':');
      expect(await attempt(url, { controlFingerprint: wrong })).toContain('SERVICE_CONTROL_FINGERPRINT');
    });
  });
});

test('without autoSelectFamily a connection gets one address, of any family', () => {
  const lookup = shuffledLookup(seededRandom(1), (_name, _options, done) =>
    done(null, [
      { address: '::1', family: 6 },
      { address: '127.0.0.1', family: 4 },
    ]),
  );
  const got = new Set<string>();
  for (let n = 0; n < DIALS; n += 1)
    lookup(NAME, {}, (_error, address, family) => got.add(`${address} ${family}`));
  expect(got).toEqual(new Set(['::1 6', '127.0.0.1 4']));
});

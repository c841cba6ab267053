import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SECOND_MS } from '@footlight/platform';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RegistryHost } from '../../platform/config/config-values.ts';
import { createFetcher, PUBLIC_INTERNET } from '../../platform/outgoing/guarded-fetch.ts';
import { ManualClock } from '../../testing/index.ts';
import {
  digestOf,
  type FakeRegistry,
  OCI_MANIFEST,
  ociManifest,
  type RegistryAnswer,
  startFakeRegistry,
} from '../testing/fake-registry.ts';
import { createDigestResolver, type DigestResolver } from './digest-resolver.ts';

const NAME = 'example/retro';
const MANIFEST = `/v2/${NAME}/manifests/1.4`;
const BYTES = ociManifest('retro');

let registry: FakeRegistry;
/** A server in the private network that the operator did not name. */
let inner: Server;
let innerHits: string[];
let innerOrigin: string;
let clock: ManualClock;
let resolver: DigestResolver;

const resolverOf = (hosts: readonly RegistryHost[]) =>
  createDigestResolver({
    clock,
    fetcher: createFetcher({ clock, policy: PUBLIC_INTERNET, stopping: new AbortController().signal }),
    hosts,
  });
const resolve = () => resolver.resolve(`${registry.host}/${NAME}:1.4`);
const answering =
  (bytes: Buffer | string, headers: Record<string, string> = {}, status = 200): RegistryAnswer =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': OCI_MANIFEST, ...headers }).end(bytes);
  };

beforeAll(async () => {
  registry = await startFakeRegistry();
  inner = createServer((request, response) => {
    innerHits.push(request.url ?? '');
    response.writeHead(200, { 'content-type': OCI_MANIFEST }).end(BYTES);
  });
  await new Promise<void>((done) => inner.listen(0, '127.0.0.2', done));
  innerOrigin = `http://127.0.0.2:${(inner.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await registry.close();
  inner.closeAllConnections();
  await new Promise((done) => inner.close(done));
});
beforeEach(() => {
  clock = new ManualClock();
  innerHits = [];
  registry.answers.clear();
  registry.asked.length = 0;
  registry.tags.clear();
  registry.tags.set(`${NAME}:1.4`, BYTES);
  resolver = resolverOf([{ scheme: 'http', host: registry.host, isNamed: true }]);
});
afterEach(() => expect(innerHits).toEqual([]));

describe('the digest of a tag', () => {
  test('is computed from what the registry answers, one question for it', async () => {
    expect(await resolve()).toBe(`${registry.host}/${NAME}@${digestOf(BYTES)}`);
    expect(registry.asked).toEqual([MANIFEST]);
  });

  test('is that of the list where there is one for several processors', async () => {
    const type = 'application/vnd.oci.image.index.v1+json';
    const list = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: type, manifests: [] }));
    registry.answers.set(MANIFEST, answering(list, { 'content-type': type }));
    expect(await resolve()).toContain(digestOf(list));
  });

  test('is not asked for where the name has one', async () => {
    const named = `${registry.host}/${NAME}@${digestOf(BYTES)}`;
    expect(await resolver.resolve(named)).toBe(named);
    expect(registry.asked).toEqual([]);
  });

  test('is not taken from a name whose registry is not listed: hosts would pull from there', async () => {
    const named = `10.0.0.5:5000/${NAME}@${digestOf(BYTES)}`;
    await expect(resolver.resolve(named)).rejects.toThrow(
      '10.0.0.5:5000 is not one of SERVICE_IMAGE_REGISTRY_HOSTS',
    );
  });

  test('comes with an anonymous token where the registry wants one', async () => {
    registry.answers.set(MANIFEST, (request, response) => {
      if (request.headers.authorization === 'Bearer abc') return answering(BYTES)(request, response);
      const realm = `http://${registry.host}/token?tenant=1`;
      const challenge = `Bearer realm="${realm}",service="reg",scope="repository:other:push"`;
      response.writeHead(401, { 'www-authenticate': challenge }).end();
    });
    registry.answers.set('/token', answering('{"token":"abc"}', { 'content-type': 'application/json' }));
    expect(await resolve()).toContain(digestOf(BYTES));
    expect(registry.asked).toEqual([
      MANIFEST,
      `/token?tenant=1&service=reg&scope=${encodeURIComponent(`repository:${NAME}:pull`)}`,
      MANIFEST,
    ]);
  });
});

describe('a registry that is broken or hostile gives no digest, and a reason', () => {
  const json = { 'content-type': 'application/json' };
  test.each<[string, RegistryAnswer, string]>([
    ['no such tag', answering('{}', json, 404), 'no such tag'],
    ['too many requests', answering('{}', json, 429), 'answered 429'],
    ['an error', answering('{}', json, 500), 'answered 500'],
    ['no access', answering('{}', json, 403), 'refuses access'],
    [
      'another digest in its header',
      answering(BYTES, { 'docker-content-digest': digestOf(Buffer.from('x')) }),
      'another digest',
    ],
    ['a page', answering('<html>', { 'content-type': 'text/html' }), 'something else than an image'],
    ['a manifest of another type', answering(BYTES, json), 'something else than an image'],
    ['an image of version 1', answering('{"schemaVersion":1}'), 'something else than an image'],
    ['no JSON', answering('{'), 'something else than an image'],
    [
      'two types',
      answering('{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json"}'),
      'contradicts itself',
    ],
    ['a huge manifest', answering(Buffer.alloc(4 * 1024 * 1024 + 1, 0x20)), 'larger than 4194304 bytes'],
    [
      'half a manifest',
      (_request, response) => {
        response.writeHead(200, { 'content-type': OCI_MANIFEST, 'content-length': '1000' }).write('{');
        setImmediate(() => response.destroy());
      },
      'did not answer as it should',
    ],
    [
      'a redirect inside',
      (_request, response) => void response.writeHead(307, { location: innerOrigin }).end(),
      'leads on too often',
    ],
    ['a password', answering('', { 'www-authenticate': 'Basic realm="x"' }, 401), 'asks for a password'],
    ['no challenge', answering('', {}, 401), 'asks for a password'],
  ])('%s', async (_what, answer, reason) => {
    registry.answers.set(MANIFEST, answer);
    await expect(resolve()).rejects.toThrow(reason);
  });

  const challenging = (realm: string) => {
    registry.answers.set(MANIFEST, answering('', { 'www-authenticate': `Bearer realm="${realm}"` }, 401));
  };

  test('a token that it refuses again: asked once more, and not a third time', async () => {
    challenging(`http://${registry.host}/token`);
    registry.answers.set('/token', answering('{"token":"abc"}', json));
    await expect(resolve()).rejects.toThrow('refuses access');
    expect(registry.asked.filter((path) => path === MANIFEST)).toHaveLength(2);
    expect(registry.asked).toHaveLength(3);
  });

  test.each([
    ['a server inside, plain', () => `${innerOrigin}/token`, 'no server for tokens'],
    ['a server inside, with TLS', () => 'https://127.0.0.2/token', 'public address'],
    ['the address of a cloud', () => 'https://169.254.169.254/token', 'public address'],
    ['another port of its own host', () => 'http://127.0.0.1:1/token', 'no server for tokens'],
    ['credentials', () => `http://a:b@${registry.host}/token`, 'no server for tokens'],
    ['a file', () => 'file:///etc/passwd', 'no server for tokens'],
    ['nothing', () => '', 'no server for tokens'],
  ])('tokens from %s', async (_what, realm, reason) => {
    challenging(realm());
    await expect(resolve()).rejects.toThrow(reason);
  });

  test.each([
    ['a header in a token', '{"token":"a\\r\\nx: y"}'],
    ['no token', '{}'],
    ['no JSON', 'x'],
    ['a long token', `{"token":"${'a'.repeat(64 * 1024)}"}`],
  ])('%s', async (_what, text) => {
    challenging(`http://${registry.host}/token`);
    registry.answers.set('/token', answering(text, json));
    await expect(resolve()).rejects.toThrow(/no token|larger than/);
  });

  test.each<[string, RegistryAnswer]>([
    ['says nothing', () => undefined],
    [
      'drips',
      (_request, response) => {
        const drip = () => {
          if (response.destroyed) return;
          response.write(' ');
          setImmediate(drip);
        };
        drip();
      },
    ],
  ])('a registry that %s gets 5 s', async (_what, answer) => {
    const reached = new Promise<void>((arrived) => {
      registry.answers.set(MANIFEST, (request, response) => {
        answer(request, response);
        arrived();
      });
    });
    const resolved = resolve().catch((error: unknown) => error);
    await reached;
    await clock.pass(5 * SECOND_MS - 1);
    expect(await Promise.race([resolved, Promise.resolve('pending')])).toBe('pending');
    await clock.pass(1);
    expect(await resolved).toHaveProperty('message', 'it took too long');
  });

  test('5 s are for token and manifest together', async () => {
    challenging(`http://${registry.host}/token`);
    const asked: (() => void)[] = [];
    registry.answers.set('/token', (request, response) => {
      asked.push(() => answering('{"token":"abc"}', json)(request, response));
    });
    const resolved = resolve().catch((error: unknown) => error);
    await expect.poll(() => asked.length).toBe(1);
    await clock.pass(4 * SECOND_MS);
    registry.answers.set(MANIFEST, () => undefined);
    asked[0]?.();
    await expect.poll(() => registry.asked.length).toBe(3);
    await clock.pass(SECOND_MS);
    expect(await resolved).toHaveProperty('message', 'it took too long');
  });
});

describe('which registries are asked', () => {
  test('none that is not on the list', async () => {
    resolver = resolverOf([{ scheme: 'https', host: 'ghcr.io', isNamed: false }]);
    await expect(resolve()).rejects.toThrow('not one of SERVICE_IMAGE_REGISTRY_HOSTS');
    expect(registry.asked).toEqual([]);
  });

  test('none at an address of the inner network that the operator did not name', async () => {
    resolver = resolverOf([{ scheme: 'https', host: '127.0.0.2', isNamed: false }]);
    await expect(resolver.resolve('127.0.0.2/retro:1')).rejects.toThrow('public address');
  });
});

import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type RegistryAnswer = (request: IncomingMessage, response: ServerResponse) => void;

export const OCI_MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

/** A server of a catalog and of images, on loopback. Scripted answers replace the honest ones. */
export interface FakeRegistry {
  /** `127.0.0.1:port`, as names of images have it. */
  readonly host: string;
  /** Variables of a control plane that uses it for both. */
  readonly env: Record<string, string>;
  /** Images of the manifest; null: the text of `manifestText`. */
  images: Record<string, unknown>[];
  /** Replaces the manifest. */
  manifestText: string | null;
  /** Bytes of a tag's manifest, by `name:tag`. */
  readonly tags: Map<string, Buffer>;
  /** Answers by path without query; they come before the honest ones. */
  readonly answers: Map<string, RegistryAnswer>;
  /** Paths that were asked, in order, with the query. */
  readonly asked: string[];
  /** Publishes a manifest under a tag. @returns its digest */
  publish(name: string, tag: string, content?: string): string;
  close(): Promise<void>;
}

export const digestOf = (bytes: Buffer): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** A manifest that no other content has. */
export const ociManifest = (content: string): Buffer =>
  Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: OCI_MANIFEST,
      config: {
        mediaType: 'application/vnd.oci.image.config.v1+json',
        size: 2,
        digest: digestOf(Buffer.from('{}')),
      },
      layers: [],
      annotations: { content },
    }),
  );

export async function startFakeRegistry(): Promise<FakeRegistry> {
  const server: Server = createServer((request, response) => handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const registry: FakeRegistry = {
    host,
    env: {
      SERVICE_IMAGE_CATALOG_REPO: 'example/images',
      SERVICE_IMAGE_CATALOG_BASE_URL: `http://${host}`,
      SERVICE_IMAGE_REGISTRY_HOSTS: `http://${host}`,
    },
    images: [],
    manifestText: null,
    tags: new Map(),
    answers: new Map(),
    asked: [],
    publish(name, tag, content = `${name}:${tag}`) {
      const bytes = ociManifest(content);
      registry.tags.set(`${name}:${tag}`, bytes);
      return digestOf(bytes);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  function handle(request: IncomingMessage, response: ServerResponse): void {
    response.on('error', () => undefined);
    const { pathname, search } = new URL(request.url ?? '/', `http://${host}`);
    registry.asked.push(pathname + search);
    const scripted = registry.answers.get(pathname);
    if (scripted !== undefined) {
      scripted(request, response);
      return;
    }
    if (pathname.startsWith('/example/images/')) {
      const text = registry.manifestText ?? JSON.stringify({ manifest_version: 1, images: registry.images });
      response.writeHead(200, { 'content-type': 'text/plain' }).end(text);
      return;
    }
    const [, name = '', tag = ''] = /^\/v2\/(.+)\/manifests\/([^/]+)$/.exec(pathname) ?? [];
    const bytes = registry.tags.get(`${name}:${tag}`);
    if (bytes === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"errors":[]}');
      return;
    }
    response
      .writeHead(200, { 'content-type': OCI_MANIFEST, 'docker-content-digest': digestOf(bytes) })
      .end(bytes);
  }

  return registry;
}

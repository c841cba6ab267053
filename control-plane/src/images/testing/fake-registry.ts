import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type RegistryAnswer = (request: IncomingMessage, response: ServerResponse) => void;

export const OCI_MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

/** A server on loopback that serves a catalog and images. Scripted answers replace the normal ones. */
export interface FakeRegistry {
  /** `127.0.0.1:port`, the form used in image names. */
  readonly host: string;
  /** Environment variables of a control plane that uses this server as catalog and as registry. */
  readonly env: Record<string, string>;
  /** Images of the manifest, used while `manifestText` is null. */
  images: Record<string, unknown>[];
  /** Text that replaces the manifest; null: the manifest lists `images`. */
  manifestText: string | null;
  /** Bytes of a tag's manifest, by `name:tag`. */
  readonly tags: Map<string, Buffer>;
  /** Answers by path without query; they replace the normal ones. */
  readonly answers: Map<string, RegistryAnswer>;
  /** Requested paths with their queries, in order. */
  readonly asked: string[];
  /** Publishes a manifest under a tag. @returns its digest */
  publish(name: string, tag: string, content?: string): string;
  close(): Promise<void>;
}

export const digestOf = (bytes: Buffer): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** A manifest; different content gives a different manifest. */
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

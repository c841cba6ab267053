import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A catalog of images, and a registry with their digests, on the loopback interface. */
export interface PublishedImages {
  /** Environment variables of a control plane that uses this catalog and this registry. */
  readonly env: Record<string, string>;
  /** Publishes a newer version of each image with the id. */
  publish(id: string, version: string): void;
  close(): Promise<void>;
}

/** An image of the catalog. */
export interface PublishedImage {
  id: string;
  /** Displayed name; missing: the id. */
  displayName?: string;
}

const MEDIA = 'application/vnd.oci.image.manifest.v1+json';
const FIRST_VERSION = '1.0.0';

/** Publishes version 1.0.0 of each image. */
export async function publishImages(...images: readonly PublishedImage[]): Promise<PublishedImages> {
  const versions = new Map(images.map(({ id }) => [id, FIRST_VERSION]));
  const server = createServer((request, response) => {
    const { port } = server.address() as AddressInfo;
    const [, id = '', version = ''] = /^\/v2\/apps\/([^/]+)\/manifests\/(.+)$/.exec(request.url ?? '') ?? [];
    if (request.url?.endsWith('/image-manifest.json')) {
      const entries = images.map((image) => ({
        id: image.id,
        display_name: image.displayName ?? image.id,
        kind: 'prebuilt',
        version: versions.get(image.id),
        registry_ref: `127.0.0.1:${port}/apps/${image.id}:${versions.get(image.id)}`,
        runtime: { preset_name: image.id, args: [] },
      }));
      response.end(JSON.stringify({ manifest_version: 1, images: entries }));
    } else if (versions.get(id) === version) {
      const manifest = manifestOf(id, version);
      response.writeHead(200, { 'Content-Type': MEDIA, 'Docker-Content-Digest': digestOf(manifest) });
      response.end(manifest);
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    env: {
      SERVICE_IMAGE_CATALOG_REPO: 'example/images',
      SERVICE_IMAGE_CATALOG_BASE_URL: host,
      SERVICE_IMAGE_REGISTRY_HOSTS: host,
    },
    publish: (id, version) => void versions.set(id, version),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Manifest of an image. It differs between images and versions, so that their digests differ. */
const manifestOf = (id: string, version: string): string =>
  JSON.stringify({
    schemaVersion: 2,
    mediaType: MEDIA,
    config: { mediaType: 'application/vnd.oci.image.config.v1+json', size: 2, digest: digestOf('{}') },
    layers: [],
    annotations: { 'org.opencontainers.image.title': id, 'org.opencontainers.image.version': version },
  });

const digestOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A catalog with one image, and the registry that knows its digest, on loopback. */
export interface PublishedImage {
  /** Variables of a control plane that reads both. */
  readonly env: Record<string, string>;
  close(): Promise<void>;
}

/** @param name id and display name of the image */
export async function publishImage(name: string): Promise<PublishedImage> {
  const media = 'application/vnd.oci.image.manifest.v1+json';
  const empty = { mediaType: 'application/vnd.oci.image.config.v1+json', size: 2, digest: digestOf('{}') };
  const image = JSON.stringify({ schemaVersion: 2, mediaType: media, config: empty, layers: [] });
  const server = createServer((request, response) => {
    const { port } = server.address() as AddressInfo;
    if (request.url?.endsWith('/image-manifest.json')) {
      const registry_ref = `127.0.0.1:${port}/apps/${name}:1.0.0`;
      const entry = { id: name, display_name: name, kind: 'prebuilt', version: '1.0.0', registry_ref };
      const runtime = { preset_name: name, args: [] };
      response.end(JSON.stringify({ manifest_version: 1, images: [{ ...entry, runtime }] }));
    } else if (request.url === `/v2/apps/${name}/manifests/1.0.0`) {
      response.writeHead(200, { 'Content-Type': media, 'Docker-Content-Digest': digestOf(image) });
      response.end(image);
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
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const digestOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

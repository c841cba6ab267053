import { gzipSync } from 'node:zlib';
import { type RealRegistry, startRealRegistry } from '@footlight/test-harness/containers';
import { digestOf, OCI_MANIFEST } from './fake-registry.ts';

const CONFIG = 'application/vnd.oci.image.config.v1+json';
const LAYER = 'application/vnd.oci.image.layer.v1.tar+gzip';

/** A real registry. Tests push images to it and fetch them over its HTTP API. */
export interface DebianRegistry extends RealRegistry {
  /** Pushes an image of one layer. @returns the digest of its manifest */
  push(name: string, tag: string, content: string): Promise<string>;
  /**
   * Fetches an image by its digest and checks every part against its digest.
   * @param receives the progress in percent
   * @returns total bytes of all parts
   */
  pull(registryRef: string, progress: (pct: number) => void): Promise<number>;
}

/** @throws when Debian's docker-registry is missing; the preparation of the tests installs it */
export async function startDebianRegistry(): Promise<DebianRegistry> {
  const registry = await startRealRegistry();
  const origin = `http://${registry.name}`;

  async function call(path: string, status: number, init?: RequestInit): Promise<Response> {
    const answer = await fetch(new URL(path, origin), init);
    if (answer.status !== status) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  }

  async function pushBlob(name: string, bytes: Buffer): Promise<{ digest: string; size: number }> {
    const begun = await call(`/v2/${name}/blobs/uploads/`, 202, { method: 'POST' });
    const at = new URL(begun.headers.get('location') ?? '', origin);
    at.searchParams.set('digest', digestOf(bytes));
    await call(at.href, 201, { method: 'PUT', body: new Uint8Array(bytes) });
    return { digest: digestOf(bytes), size: bytes.length };
  }

  async function fetchPart(path: string, digest: string): Promise<Buffer> {
    const answer = await call(path, 200, { headers: { accept: OCI_MANIFEST } });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (digestOf(bytes) !== digest) throw new Error(`${path}: other bytes than those of ${digest}`);
    return bytes;
  }

  return {
    ...registry,
    async push(name, tag, content) {
      const layer = gzipSync(Buffer.concat([Buffer.from(content), Buffer.alloc(1024)]));
      const image = JSON.stringify({
        architecture: 'amd64',
        os: 'linux',
        rootfs: { type: 'layers', diff_ids: [] },
      });
      const manifest = Buffer.from(
        JSON.stringify({
          schemaVersion: 2,
          mediaType: OCI_MANIFEST,
          config: { mediaType: CONFIG, ...(await pushBlob(name, Buffer.from(image))) },
          layers: [{ mediaType: LAYER, ...(await pushBlob(name, layer)) }],
        }),
      );
      await call(`/v2/${name}/manifests/${tag}`, 201, {
        method: 'PUT',
        headers: { 'content-type': OCI_MANIFEST },
        body: new Uint8Array(manifest),
      });
      return digestOf(manifest);
    },
    async pull(registryRef, progress) {
      const [, name = '', digest = ''] = /^[^/]+\/(.+)@(sha256:[0-9a-f]{64})$/.exec(registryRef) ?? [];
      const manifest = await fetchPart(`/v2/${name}/manifests/${digest}`, digest);
      const { config: image, layers } = JSON.parse(manifest.toString('utf8'));
      let bytes = manifest.length;
      const parts: string[] = [image.digest, ...layers.map((layer: { digest: string }) => layer.digest)];
      for (const [n, part] of parts.entries()) {
        bytes += (await fetchPart(`/v2/${name}/blobs/${part}`, part)).length;
        progress(Math.round(((n + 1) / parts.length) * 100));
      }
      return bytes;
    },
  };
}

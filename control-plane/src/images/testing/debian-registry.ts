import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
// biome-ignore lint/style/noRestrictedImports: fixtures of tests, which may use the harness.
import { freePort } from '@footlight/test-harness';
import { vi } from 'vitest';
import { digestOf, OCI_MANIFEST } from './fake-registry.ts';

const CONFIG = 'application/vnd.oci.image.config.v1+json';
const LAYER = 'application/vnd.oci.image.layer.v1.tar+gzip';

/** Debian's docker-registry on loopback, with a folder of its own. */
export interface DebianRegistry {
  /** `127.0.0.1:port`, as names of images have it. */
  readonly host: string;
  /** Pushes an image of one layer over the registry's HTTP API. @returns the digest of its manifest */
  push(name: string, tag: string, content: string): Promise<string>;
  /** Fetches an image by its digest and compares every part. @returns bytes of all parts (count) */
  pull(registryRef: string, progress: (pct: number) => void): Promise<number>;
  /** Ends the program; images stay. */
  kill(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** @throws when Debian's docker-registry is missing: the preparation of the tests installs it */
export async function startDebianRegistry(): Promise<DebianRegistry> {
  if (spawnSync('docker-registry', ['--version']).status !== 0)
    throw new Error('docker-registry is not installed; scripts/test installs it');
  const folder = mkdtempSync(join(tmpdir(), 'footlight-registry-'));
  const host = `127.0.0.1:${await freePort()}`;
  const config = join(folder, 'config.yml');
  writeFileSync(
    config,
    JSON.stringify({
      version: '0.1',
      log: { level: 'error', accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: join(folder, 'data') } },
      http: { addr: host },
    }),
  );
  let stop: () => Promise<void> = async () => undefined;

  async function call(path: string, status: number, init?: RequestInit): Promise<Response> {
    const answer = await fetch(new URL(path, `http://${host}`), init);
    if (answer.status !== status) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  }

  async function pushBlob(name: string, bytes: Buffer): Promise<{ digest: string; size: number }> {
    const begun = await call(`/v2/${name}/blobs/uploads/`, 202, { method: 'POST' });
    const at = new URL(begun.headers.get('location') ?? '', `http://${host}`);
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

  const registry: DebianRegistry = {
    host,
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
    kill: () => stop(),
    async start() {
      // The kernel ends it with the test run.
      const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', 'docker-registry', 'serve', config], {
        stdio: 'ignore',
      });
      const exited = new Promise((resolve) => child.once('exit', resolve));
      stop = async () => {
        child.kill('SIGKILL');
        await exited;
      };
      await vi.waitFor(() => call('/v2/', 200), { timeout: 20_000 });
    },
    async close() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await registry.start();
  return registry;
}

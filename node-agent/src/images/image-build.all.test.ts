import { execFileSync } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { silentLogger, systemClock } from '@footlight/platform';
import type { ImageState } from '@footlight/protocol/agent';
import {
  makeDebianImage,
  noRealPodman,
  type RealPodman,
  startRealPodman,
} from '@footlight/test-harness/containers';
import { type Headers, pack } from 'tar-stream';
import { Agent } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { EngineHost } from '../runtime/container/engine/engine-host.ts';
import { ImagePulls } from '../runtime/container/image-pulls.ts';
import { HostImages, type HostImagesDeps, type ImageCommand } from './host-images.ts';

const why = noRealPodman();
type Entry = Partial<Headers> & { name: string; text?: string };

describe.skipIf(why !== null)(`an image built on its host${why === null ? '' : ` (${why})`}`, () => {
  let podman: RealPodman;
  let folder: string;
  let server: Server;
  let source: string;
  let images: HostImages;
  let deps: HostImagesDeps;
  let reports: ImageState[] = [];
  let progress: ImageState[] = [];
  let free: number | null = null;
  /** The code host's answers by path: a file, or the address of a redirect. */
  const answers = new Map<string, { file: string } | { location: string }>();
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });

  beforeAll(async () => {
    podman = await startRealPodman();
    await makeDebianImage(podman, 'localhost/base:1');
    folder = await mkdtemp('/srv/footlight-builds-');
    await chmod(folder, 0o700);
    const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(folder, name)) as [string, string];
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-days',
        '1',
        '-subj',
        '/CN=127.0.0.1',
        '-keyout',
        key,
        '-out',
        cert,
      ],
      { stdio: 'ignore' },
    );
    server = createServer(
      { key: await readFile(key), cert: await readFile(cert) },
      async (request, answer) => {
        const found = answers.get(request.url ?? '');
        if (found === undefined) answer.writeHead(404).end();
        else if ('location' in found) answer.writeHead(302, { location: found.location }).end();
        else answer.end(await readFile(found.file));
      },
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    source = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const host = new EngineHost(
      { url: podman.url, ociRuntime: null, required: true, stateDir: folder, nvidia: () => false },
      { clock: systemClock, logger: silentLogger(), env: {} },
    );
    deps = {
      stateDir: folder,
      sourceHosts: [source],
      host,
      pulls: new ImagePulls({ open: () => host.open(), clock: systemClock }),
      clock: systemClock,
      logger: silentLogger(),
      report: (message) => reports.push(message as ImageState),
      progress: (message) => progress.push(message),
      freeBytes: async () => free,
      dispatcher,
    };
    images = await HostImages.open(deps);
  }, 120_000);

  afterEach(async () => {
    expect(await readdir(join(folder, 'builds')).catch(() => [])).toEqual([]);
    reports = [];
    progress = [];
    free = null;
    answers.clear();
  });

  afterAll(async () => {
    await images?.close();
    await dispatcher.close();
    server?.close();
    await rm(folder, { recursive: true, force: true });
    await podman?.stop();
  });

  async function serve(path: string, entries: Entry[]): Promise<void> {
    const writer = pack();
    for (const { text = '', ...header } of entries) writer.entry(header as Headers, text);
    writer.finalize();
    const file = join(folder, 'archive.tar.gz');
    await pipeline([writer, createGzip(), createWriteStream(file)] as never);
    answers.set(path, { file });
  }
  async function build(
    change: Partial<Extract<ImageCommand, { type: 'image_build' }>> = {},
  ): Promise<ImageState> {
    const before = reports.length;
    const verdict = images.command({
      type: 'image_build',
      id: '00000000-0000-4000-8000-000000000001',
      image_id: 'tool',
      version: '1',
      context_url: `https://${source}/tool.tar.gz`,
      context_subdir: 'tool-1/image',
      dockerfile: 'Containerfile',
      build_args: { GREETING: 'hello; touch /pwned' },
      local_tag: 'service-local/tool:1',
      ...change,
    });
    expect(verdict).toEqual({ ok: true });
    return vi.waitFor(() => {
      const last = reports.slice(before).at(-1);
      if (last?.state !== 'ready' && last?.state !== 'failed') throw new Error(`still ${last?.state}`);
      return last;
    }, 30_000);
  }
  const HONEST: Entry[] = [
    {
      name: 'tool-1/image/Containerfile',
      text: 'FROM localhost/base:1\nARG GREETING\nCOPY run /usr/bin/run\nENV GREETING=$GREETING\nCMD ["/bin/sh", "/usr/bin/run"]\n',
    },
    { name: 'tool-1/image/run', text: 'echo "$GREETING"\n', mode: 0o755 },
    { name: 'tool-1/secret', text: 'not in the context' },
  ];

  test('from the folder of an archive, with its arguments', async () => {
    await serve('/real.tar.gz', HONEST);
    // Code hosts first answer with a redirect.
    answers.set('/tool.tar.gz', { location: '/real.tar.gz' });
    const ready = await build();
    expect(ready).toMatchObject({ image_id: 'tool', version: '1', state: 'ready' });
    expect(reports[0]).toMatchObject({ state: 'building', progress_pct: 0 });
    const { held } = images;
    expect(held ?? []).toEqual([]);
    await images.check();
    expect(images.held).toEqual([{ image_id: 'tool', version: '1', state: 'ready' }]);
    // The next agent process queries the engine, because an administrator may have changed its images by hand.
    const again = await HostImages.open(deps);
    expect(again.held).toBe(undefined);
    await again.check();
    expect(again.held).toEqual(images.held);
    const name = (await podman.podman('images', '--format', '{{.Repository}}:{{.Tag}}')).split('\n');
    const built = name.find((each) => each.endsWith('service-local/tool:1')) ?? '';
    expect(await podman.podman('run', '--rm', '--network', 'none', built)).toBe('hello; touch /pwned');
    await podman.podman('rmi', built);
    await again.check();
    expect(again.held).toEqual([]);
  });

  test.each<[string, Entry[], string]>([
    ['a path out of the archive', [{ name: '../../etc/cron.d/x', text: 'x' }], 'leaves the archive'],
    ['an absolute path', [{ name: '/etc/cron.d/x', text: 'x' }], 'leaves the archive'],
    ['a link out', [{ name: 'tool-1/image/x', type: 'symlink', linkname: '/etc' }], 'absolute path'],
    ['a device', [{ name: 'tool-1/image/x', type: 'block-device' }], 'block-device'],
  ])('not from an archive with %s', async (_name, entries, error) => {
    await serve('/tool.tar.gz', [...HONEST, ...entries]);
    const failed = await build({ version: '2', local_tag: 'service-local/tool:2' });
    expect(failed).toMatchObject({ state: 'failed' });
    expect(failed.error).toContain(error);
  });

  test('not from an unlisted host to which a listed host redirects', async () => {
    answers.set('/tool.tar.gz', { location: 'https://127.0.0.1:1/x' });
    const failed = await build({ version: '2', local_tag: 'service-local/tool:2' });
    expect(failed.error).toContain('127.0.0.1:1 is not in SERVICE_IMAGE_SOURCE_HOSTS');
    answers.set('/tool.tar.gz', { location: '/tool.tar.gz' });
    expect((await build({ version: '2', local_tag: 'service-local/tool:2' })).error).toContain('without end');
    answers.delete('/tool.tar.gz');
    expect((await build({ version: '2', local_tag: 'service-local/tool:2' })).error).toContain(
      'answered 404',
    );
  });

  test('not on a disk without 20 GiB', async () => {
    free = 19 * 1024 ** 3;
    const failed = await build({ version: '2', local_tag: 'service-local/tool:2' });
    expect(failed.error).toMatch(/has 19\.0 GiB free, and 20 GiB are needed/);
  });

  test('a failing Containerfile reports the reason', async () => {
    await serve('/tool.tar.gz', [
      { name: 'tool-1/image/Containerfile', text: 'FROM localhost/base:1\nCOPY missing /\n' },
    ]);
    const failed = await build({ version: '2', local_tag: 'service-local/tool:2' });
    expect(failed.error).toContain('missing');
  });
});

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { type RealPodman, type RealRegistry, startRealRegistry } from './real-podman.ts';

const run = promisify(execFile);

/** Programs of this Debian that the image contains: an app that draws, and programs for attacks. */
const PROGRAMS = ['cat', 'env', 'id', 'ls', 'perl', 'sleep', 'touch', 'mount', 'pactl', 'xterm'];
/** Data that those programs read. */
const DATA = [
  '/bin/sh',
  '/usr/share/X11/app-defaults/XTerm',
  '/usr/share/X11/app-defaults/XTerm-color',
  '/usr/lib/x86_64-linux-gnu/perl-base',
  '/usr/lib/locale/C.utf8',
  '/usr/share/X11/locale',
];

/**
 * Makes an image of this machine's Debian files, without a network: a few programs, and the libraries that they load.
 * @param name with a tag
 * @returns its id
 */
export async function makeDebianImage(podman: RealPodman, name: string): Promise<string> {
  const folder = path.join(podman.folder, 'image');
  await mkdir(folder, { recursive: true });
  const programs = await Promise.all(PROGRAMS.map(programPath));
  const files = new Set<string>();
  for (const program of programs) {
    files.add(program);
    for (const library of await librariesOf(realpathSync(program))) files.add(library);
  }
  for (const data of DATA) if (existsSync(data)) files.add(data);
  await writeFile(path.join(folder, 'files'), [...files].map((file) => file.slice(1)).join('\n'));
  const archive = path.join(folder, 'root.tar');
  // Links are replaced by their targets: /bin and /lib are links in Debian, but not in this image.
  await run('tar', ['-C', '/', '-chf', archive, '--files-from', path.join(folder, 'files')], {
    maxBuffer: 16 * 1024 * 1024,
  });
  await writeFile(
    path.join(folder, 'Containerfile'),
    [
      'FROM scratch',
      'ADD root.tar /',
      'COPY passwd /etc/passwd',
      'ENV PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8',
      'CMD ["/usr/bin/xterm"]',
      '',
    ].join('\n'),
  );
  await writeFile(path.join(folder, 'passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
  await podman.podman('build', '--tag', name, '--file', path.join(folder, 'Containerfile'), folder);
  return podman.podman('image', 'inspect', '--format', '{{.Id}}', name);
}

/**
 * Pushes an image to a registry on the loopback interface.
 * @returns `name@sha256:…`, by which it can be pulled
 */
export async function pushImage(podman: RealPodman, name: string): Promise<string> {
  const digestFile = path.join(podman.folder, 'digest');
  await podman.podman('push', '--tls-verify=false', '--digestfile', digestFile, name);
  const digest = (await readFile(digestFile, 'utf8')).trim();
  return `${name.replace(/:[\w.-]+$/, '')}@${digest}`;
}

/** Folder of registries with an image of this Debian. Building one takes 5 s on an idle machine, copying it 0.1 s. */
const KEPT = path.resolve(import.meta.dirname, '../../../node_modules/.cache/footlight-debian-image');
const NAME = 'apps/terminal';

/**
 * Starts a registry with the image of makeDebianImage, which podman has not pulled. The first call on this Debian
 * version builds the registry's folder. Later calls, also in later runs, start with a copy.
 * @returns the registry, and the image by its digest
 */
export async function startDebianRegistry(
  podman: RealPodman,
): Promise<{ registry: RealRegistry; image: string }> {
  const { mtimeMs } = await stat('/var/lib/dpkg/status');
  const key = createHash('sha256')
    .update(JSON.stringify([mtimeMs, await readFile(import.meta.filename, 'utf8')]))
    .digest('hex')
    .slice(0, 16);
  const kept = path.join(KEPT, key);
  if (!existsSync(kept)) await keep(podman, kept);
  const registry = await startRealRegistry(path.join(kept, 'data'));
  const digest = await readFile(path.join(kept, 'digest'), 'utf8');
  return { registry, image: `${registry.name}/${NAME}@${digest}` };
}

async function keep(podman: RealPodman, place: string): Promise<void> {
  const registry = await startRealRegistry();
  try {
    const name = `${registry.name}/${NAME}:1`;
    await makeDebianImage(podman, name);
    const [, digest = ''] = (await pushImage(podman, name)).split('@');
    await podman.podman('rmi', '--force', name);
    await mkdir(KEPT, { recursive: true });
    const folder = await mkdtemp(`${place}-`);
    await cp(registry.dataFolder, path.join(folder, 'data'), { recursive: true });
    await writeFile(path.join(folder, 'digest'), digest);
    // If two runs build the folder at the same time, the first folder stays; their contents are equal.
    await rename(folder, place).catch(() => rm(folder, { recursive: true }));
  } finally {
    await registry.stop();
  }
}

async function programPath(name: string): Promise<string> {
  const { stdout } = await run('which', [name]);
  return stdout.trim();
}

/** Source: ldd(1). */
async function librariesOf(file: string): Promise<string[]> {
  const { stdout } = await run('ldd', [file]).catch(() => ({ stdout: '' }));
  return stdout.split('\n').flatMap((line) => /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1] ?? []);
}

import { execFile } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { RealPodman } from './real-podman.ts';

const run = promisify(execFile);

/** Programs of this Debian that the image has: an app that draws, and what attacks need. */
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
 * Makes an image of this machine's Debian files, without a network: programs with the libraries that they load.
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
  // Links are replaced by what they lead to: /bin and /lib are links in Debian, and not in this image.
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
  const { readFile } = await import('node:fs/promises');
  const digest = (await readFile(digestFile, 'utf8')).trim();
  return `${name.replace(/:[\w.-]+$/, '')}@${digest}`;
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

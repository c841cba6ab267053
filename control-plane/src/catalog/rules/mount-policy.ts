/** Which folders of a host an app may mount. Pure; the agent checks again with links resolved. */

/** Refused folders with everything below: the host's system, state and users. */
const REFUSED_TREES = [
  '/proc',
  '/sys',
  '/dev',
  '/boot',
  '/etc',
  '/root',
  '/run',
  '/var/run',
  '/var/lib',
  '/var/log',
  '/var/spool',
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/home',
];

/** Access to one of these sockets controls the host; a folder above one has the same effect. */
const RUNTIME_SOCKETS = [
  'docker.sock',
  'containerd/containerd.sock',
  'crio/crio.sock',
  'podman/podman.sock',
].flatMap((socket) => [`/run/${socket}`, `/var/run/${socket}`]);

/**
 * First check of a mount: refuses what no host would allow. The agent checks the rest with links resolved, against
 * its host's roots.
 * @param entry `src:dst` or `src:dst:opts`
 * @returns the reason for administrators; null when it passes
 */
export function refuseMount(entry: string): string | null {
  if (/[\0\n]/.test(entry)) return 'must not contain NUL or a newline';
  const parts = entry.split(':');
  const [source, target] = parts;
  if (source === undefined || target === undefined || parts.length > 3)
    return 'must be src:dst or src:dst:opts';
  if (!source.startsWith('/') || !target.startsWith('/')) return 'needs absolute paths on both sides';
  if (source.split('/').includes('..')) return 'must not climb with ..';
  if (normalise(target) === '/') return 'must not replace the root of the app';
  const path = normalise(source);
  if (path === '/') return 'must not expose the root of the host';
  const tree = REFUSED_TREES.find((root) => isAtOrBelow(path, root));
  if (tree !== undefined) return `must not expose ${tree} of the host`;
  if (RUNTIME_SOCKETS.some((socket) => isAtOrBelow(socket, path)))
    return 'must not expose a container runtime';
  return null;
}

/** The first refused mount of a list, with its field; null when all pass. */
export function refuseMounts(field: string, mounts: readonly string[] = []): string | null {
  for (const mount of mounts) {
    const why = refuseMount(mount);
    if (why !== null) return `${field}: ${JSON.stringify(mount).slice(0, 100)} ${why}`;
  }
  return null;
}

const isAtOrBelow = (path: string, root: string): boolean => path === root || path.startsWith(`${root}/`);

/** Removes duplicate and trailing slashes and `.` parts. */
function normalise(path: string): string {
  return `/${path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/')}`;
}

/**
 * Decides which folders of a host an app may mount. Pure. The agent checks the mount again after resolving symbolic
 * links.
 */

/** These folders and everything below them are refused: they contain the host's system, state and users. */
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

/**
 * A container with access to one of these sockets controls the host. Mounting a folder that contains a socket has the
 * same effect.
 */
const RUNTIME_SOCKETS = [
  'docker.sock',
  'containerd/containerd.sock',
  'crio/crio.sock',
  'podman/podman.sock',
].flatMap((socket) => [`/run/${socket}`, `/var/run/${socket}`]);

/**
 * First check of a mount: refuses mounts that every host would refuse. The agent then resolves symbolic links and
 * checks the mount against the allowed roots of its host.
 * @param entry `src:dst` or `src:dst:opts`
 * @returns the reason of the refusal, for administrators; null: the mount passes this check
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

/** The first refused mount of a list, with the field's name; null: all mounts pass. */
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

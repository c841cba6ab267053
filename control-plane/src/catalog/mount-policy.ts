/** What an app may never be given, itself or anything below it: the host's own system, state and users. */
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

/** An app that reaches one of these commands the host; a folder above one is as good as the socket. */
const RUNTIME_SOCKETS = [
  'docker.sock',
  'containerd/containerd.sock',
  'crio/crio.sock',
  'podman/podman.sock',
].flatMap((socket) => [`/run/${socket}`, `/var/run/${socket}`]);

/**
 * The early part of the mount policy: refuses what no host would allow. The agent decides about the rest, with links
 * resolved, against the roots that its own host allows.
 * @param entry `src:dst` or `src:dst:opts`
 * @returns why it is refused, in words for the administrator; null when it passes
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

/** The first refused mount of a list, named with the field it stands in; null when all pass. */
export function refuseMounts(field: string, mounts: readonly string[] = []): string | null {
  for (const mount of mounts) {
    const why = refuseMount(mount);
    if (why !== null) return `${field}: ${JSON.stringify(mount).slice(0, 100)} ${why}`;
  }
  return null;
}

const isAtOrBelow = (path: string, root: string): boolean => path === root || path.startsWith(`${root}/`);

/** Without duplicate or trailing slashes and without `.` parts. */
function normalise(path: string): string {
  return `/${path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/')}`;
}

/** Paths and volume names of homes. Pure. */

const MAX_SLUG = 40;
/** Longest ref in a session's assignment (bytes). */
const MAX_REF_BYTES = 512;

/** Converts a name to a path segment of at most 40 characters [a-z0-9_-]; the result may be "". */
export function slug(name: string): string {
  const dashed = name.toLowerCase().replace(/[^a-z0-9_-]/g, '-');
  let start = 0;
  let end = dashed.length;
  while (dashed[start] === '-') start += 1;
  while (end > start && dashed[end - 1] === '-') end -= 1;
  return dashed.slice(start, end).slice(0, MAX_SLUG);
}

const part = (name: string, suffix: string): string => {
  const readable = slug(name);
  return readable === '' ? suffix : `${readable}-${suffix}`;
};

export interface HomeOwner {
  userId: string;
  username: string;
  /** The app that owns the home; for a tile, the tile's parent. */
  appId: string;
  appName: string;
}

/**
 * Directory of a home: readable, and unique per owner.
 * @param root absolute directory on the host
 * @param whole whether to use whole ids instead of their first eight characters, if the short form is taken
 * @returns null when the result is too long, or the root is not absolute
 */
export function localHomeRef(root: string, owner: HomeOwner, whole: boolean): string | null {
  if (!root.startsWith('/')) return null;
  const id = (value: string): string => (whole ? value : value.slice(0, 8));
  const base = root.replace(/\/+$/, '');
  const ref = `${base}/${part(owner.username, id(owner.userId))}/${part(owner.appName, id(owner.appId))}`;
  return Buffer.byteLength(ref) > MAX_REF_BYTES ? null : ref;
}

/** Name of the engine volume of a home. */
export const volumeRef = (homeId: string): string => `service-home-${homeId}`;
